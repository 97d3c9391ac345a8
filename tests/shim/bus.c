/* bus.c - see bus.h. */
#include <sys/mman.h>

#include "bus.h"

int served;
char *beyond;
volatile int count;
volatile pid_t by;
sigset_t bus;

void counting(int sig)
{
	(void)sig;
	by = gettid();
	count++;
}

void bus_ready(void)
{
	int fd = open_made("short", 9, 100, O_RDWR);

	beyond = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	NEED(beyond != MAP_FAILED);
	beyond += 4096;
	close(fd);
	sigemptyset(&bus);
	sigaddset(&bus, SIGBUS);
	served = open_made("a", 1, SIZE, O_RDONLY);
	warm(served);
	signal(SIGBUS, counting);
}

void say_mask(const char *when)
{
	sigset_t now;
	sigset_t waiting;
	unsigned long bits[2];

	pthread_sigmask(SIG_SETMASK, NULL, &now);
	sigpending(&waiting);
	memcpy(&bits[0], &now, sizeof(bits[0]));
	memcpy(&bits[1], &waiting, sizeof(bits[1]));
	say("%s: mask %lx pending %lx count %d", when, bits[0], bits[1], count);
}

void need_survival(void)
{
	int fd = open_made("shorter", 3, SIZE, O_RDWR);
	unsigned char buf[100];

	warm_try(fd);
	for (int i = 0; i < 400; i++)
		pread(fd, buf, 100, 200000);
	NEED(!ftruncate(fd, 1000));
	say_pread(fd, 100, 200000);
	say_pread(fd, 100, 950);
	close(fd);
}
