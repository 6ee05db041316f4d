// Carries the note by which Go's objects are known.
__asm__(
    ".section .note.go.buildid, \"a\", @note\n"
    ".balign 4\n"
    ".long 4, 4, 4\n"
    ".asciz \"Go\\0\"\n"
    ".long 0x12345678\n"
    ".previous");
