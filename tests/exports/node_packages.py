"""The npm packages that read exports: installed once, from the lock beside this file."""
import fcntl
import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
DIRECTORY = pathlib.Path(os.environ.get("NODE_DIRECTORY", HERE.parent.parent / "build/tests/exports/node"))


def install():
    """The directory that holds them. Tests run side by side; one of them installs."""
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    with open(DIRECTORY / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = (HERE / "package-lock.json").read_bytes()
        installed = DIRECTORY / "package-lock.json"
        if not (DIRECTORY / "installed").exists() or installed.read_bytes() != wanted:
            for name in ("package.json", "package-lock.json", ".npmrc"):
                shutil.copy(HERE / name, DIRECTORY / name)
            subprocess.run(["npm", "ci", "--ignore-scripts"], cwd=DIRECTORY, check=True, capture_output=True, timeout=300)
            (DIRECTORY / "installed").touch()
    return DIRECTORY


def run(script, *arguments):
    done = subprocess.run(["node", HERE / script, *map(str, arguments)], capture_output=True, timeout=180,
                          env={**os.environ, "NODE_DIRECTORY": str(install())})
    assert done.returncode == 0, f"{script}: {done.stderr.decode(errors='replace')[-3000:]}"
    return done.stdout.decode()
