// The size of a page, as the kernel tells programs.
#include <stdio.h>
#include <unistd.h>

int main(void) { return printf("%ld\n", sysconf(_SC_PAGESIZE)) < 0; }
