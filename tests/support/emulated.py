"""Programs of another CPU as if they were this machine's: in a user namespace of its own the kernel starts them with qemu-user."""
import shutil
import subprocess

import heaptap_test

# binfmt_misc: the ELF header's class, byte order and machine, and a mask of the bits that count. F: qemu is opened now.
FORMATS = {
    "arm": r":arm:M::\x7fELF\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x28\x00:"
           r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:%s:F",
    "powerpc": r":powerpc:M::\x7fELF\x01\x02\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x14:"
               r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff:%s:F",
    "aarch64": r":aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:"
               r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:%s:F",
}
QEMU = {"powerpc": "qemu-ppc-static"}  # where its name isn't the CPU's
SCRIPT = 'mount -t binfmt_misc none /proc/sys/fs/binfmt_misc && printf "%s" "$1" > /proc/sys/fs/binfmt_misc/register || exit 99; shift; exec "$@"'


def command(architecture, libraries):
    """The words in front of a command that may execute programs of this architecture. `libraries`: where those of its system are."""
    name = QEMU.get(architecture, f"qemu-{architecture}-static")
    qemu = shutil.which(name)
    if not qemu or not shutil.which("unshare"):
        heaptap_test.skip_what_is_missing(f"{name} or unshare is missing")
    words = ["unshare", "--user", "--map-root-user", "--mount", "env", f"QEMU_LD_PREFIX={libraries}",
             "sh", "-c", SCRIPT, "sh", FORMATS[architecture] % qemu]
    if subprocess.run([*words, "true"], capture_output=True, check=False).returncode != 0:
        heaptap_test.skip_what_the_kernel_lacks("this kernel has no binfmt_misc in user namespaces (Linux 6.7)")
    return words
