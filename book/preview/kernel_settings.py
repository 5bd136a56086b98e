"""Settings of the Jupyter server that runs the preview's Live Code (a Jupyter configuration file).

Whoever may start a kernel may do everything on this machine. So the server listens on this machine
alone, wants the token, and lets no page in but the preview's own, with the token or without.
"""

import os

from jupyter_server.auth import IdentityProvider


class OwnPages(IdentityProvider):
    """Jupyter checks the origin of a page only where no token is given; here it always does."""

    def should_check_origin(self, handler):
        return True


c = get_config()  # noqa: F821, there when Jupyter reads this file
c.ServerApp.ip = "127.0.0.1"
c.ServerApp.port = 0  # any that is free
c.ServerApp.allow_origin = os.environ["PREVIEW_ORIGIN"]
c.ServerApp.identity_provider_class = OwnPages  # the token comes as JUPYTER_TOKEN
c.ServerApp.root_dir = os.environ["PREVIEW_FOLDER"]
c.ServerApp.allow_root = True  # as in a container; it is the user's own machine in any case
c.ServerApp.open_browser = False
c.ServerApp.terminals_enabled = False
