"""What runs on GitHub can be run here, and is allowed no more than it needs."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAY_WRITE = {"publish": {"pages", "id-token"}, "report": {"issues"}}


@pytest.fixture(params=WORKFLOWS, ids=lambda path: path.name)
def workflow(request) -> Path:
    return request.param


def test_every_step_is_a_target_of_make_or_a_pinned_action(workflow):
    targets = re.findall(r"^([\w./-]+):(?!=)", (ROOT / "Makefile").read_text(), re.M)
    for job in yaml.safe_load(workflow.read_text())["jobs"].values():
        assert job["timeout-minutes"] <= 120
        for step in job["steps"]:
            if "run" in step:
                assert re.match(r"make ([\w./-]+)", step["run"])[1] in targets
            else:
                assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", step["uses"])
                assert re.search(rf"{step['uses']} # v\d+\.\d+\.\d+\n", workflow.read_text())


def test_a_job_may_write_only_what_it_is_there_to_write(workflow):
    asked = yaml.safe_load(workflow.read_text())
    assert asked["permissions"] == {}
    for name, job in asked["jobs"].items():
        writes = {what for what, how in job["permissions"].items() if how != "read"}
        assert writes == MAY_WRITE.get(name, set()), name
