/* linked.c - a program that libctor.so is a dependency of; then as loaded.c's goes-on. */
#include "loading.h"

extern int loading_fd;

int main(void)
{
	unsigned char buf[50];
	int wrong = 0;

	if (raw3(SYS_lseek, loading_fd, 0, SEEK_CUR) != 5040 ||
	    read(loading_fd, buf, 50) != 50 || !loading_is(buf, 50, 1, 5040))
		wrong = __LINE__;
	if (!wrong)
		wrong = exercise(loading_fd, 1);
	tell("main", wrong);
	return 0;
}
