/*
 * A socket server that sends back what it gets, and a client that waits for it: `echo
 * ROUNDS`. Prints the nanoseconds for a round of 64 bytes there and back. The calls are read
 * and write on a descriptor that no library can serve.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PW_BYTES 64

static void pw_die(const char *what)
{
	fprintf(stderr, "echo: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static double pw_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void pw_serve(int listener)
{
	int fd = accept(listener, NULL, NULL), on = 1;
	char buf[PW_BYTES];
	ssize_t k;

	if (fd < 0)
		pw_die("accept");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	while ((k = read(fd, buf, sizeof(buf))) > 0)
		if (write(fd, buf, (size_t)k) != k)
			pw_die("write");
	_exit(0);
}

static void pw_round(int fd, char *buf)
{
	size_t got = 0;

	if (write(fd, buf, PW_BYTES) != PW_BYTES)
		pw_die("write");
	while (got < PW_BYTES) {
		ssize_t k = read(fd, buf + got, PW_BYTES - got);

		if (k <= 0)
			pw_die("read");
		got += (size_t)k;
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	socklen_t length = sizeof(to);
	int listener, fd, on = 1;
	long rounds = argc == 2 ? atol(argv[1]) : 0;
	char buf[PW_BYTES] = "ash oak elm yew";
	double began;
	pid_t server;

	if (rounds <= 0) {
		fprintf(stderr, "usage: echo ROUNDS\n");
		return 2;
	}
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (listener < 0 || fd < 0 || bind(listener, (struct sockaddr *)&to, length) ||
	    listen(listener, 1) || getsockname(listener, (struct sockaddr *)&to, &length))
		pw_die("socket");
	server = fork();
	if (server < 0)
		pw_die("fork");
	if (server == 0) {
		close(fd); /* else the server would not see the client go */
		pw_serve(listener);
	}
	if (connect(fd, (struct sockaddr *)&to, length))
		pw_die("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	began = pw_now();
	for (long i = 0; i < rounds; i++)
		pw_round(fd, buf);
	printf("%.1f\n", (pw_now() - began) / (double)rounds);
	close(fd);
	close(listener);
	waitpid(server, NULL, 0);
	return 0;
}
