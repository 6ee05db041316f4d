"""The npm packages that read exports: installed once, from the lock beside this file."""
import fcntl
import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = pathlib.Path(os.environ.get("NODE_FOLDER", HERE.parent.parent / "build/tests/exports/node"))


def install():
    """The folder that holds them. Tests run side by side; one of them installs."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = (HERE / "package-lock.json").read_bytes()
        installed = FOLDER / "package-lock.json"
        if not (FOLDER / "installed").exists() or installed.read_bytes() != wanted:
            for name in ("package.json", "package-lock.json", ".npmrc"):
                shutil.copy(HERE / name, FOLDER / name)
            subprocess.run(["npm", "ci", "--ignore-scripts"], cwd=FOLDER, check=True, capture_output=True, timeout=300)
            (FOLDER / "installed").touch()
    return FOLDER


def run(script, *arguments):
    done = subprocess.run(["node", HERE / script, *map(str, arguments)], capture_output=True, timeout=180,
                          env={**os.environ, "NODE_FOLDER": str(install())})
    assert done.returncode == 0, f"{script}: {done.stderr.decode(errors='replace')[-3000:]}"
    return done.stdout.decode()
