"""What the tests of the one file share: where it is, and the ordinary user that starts it."""
import os
import pathlib
import platform

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ONE_FILE = pathlib.Path(os.environ.get("HEAPTAP_ONE_FILE", ROOT / "build/bundle" / f"heaptap-{platform.machine()}"))
USER = 54321
OTHER_USER = 54322


def user_owns(path, mode, user=USER):
    os.chown(path, user, user)
    os.chmod(path, mode)
