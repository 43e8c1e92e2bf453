"""The recorded runner leaves its working folders behind: here they are the test's own."""

import tempfile

import pytest


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
