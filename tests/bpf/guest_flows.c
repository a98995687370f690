// SPDX-License-Identifier: MIT OR Apache-2.0
// Runs in the guest: TCP flows and one UDP flow from the namespace `src` to `dst`, in one process: starting programs costs an emulated processor
// more than their packets do.
//
//     flows TCP_FLOWS UDP_KBPS WARM_S MEASURED_S
//
// A line on standard output: datagrams sent and received, bytes of TCP received, and the mean one-way delay of UDP in microseconds, between the end
// of WARM_S and that of MEASURED_S. Packets have 1000 bytes of IP.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { MOST_FLOWS = 256, MSS = 960, PACKET = 1000, DATA = PACKET - 28, CHUNK = 32768 };
enum kind { SENDER, RECEIVER, UDP_CLOCK, UDP_SINK, END };

static const char *const TO = "10.9.0.2";
static char data[CHUNK];

static void need(int good, const char *what)
{
	if (!good) {
		printf("FAILED %s: %s\n", what, strerror(errno));
		exit(1);
	}
}

static void enter(const char *space)
{
	int fd = open(space, O_RDONLY);
	need(fd >= 0 && setns(fd, CLONE_NEWNET) == 0, space);
	close(fd);
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static struct sockaddr_in address(int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
	inet_pton(AF_INET, TO, &to.sin_addr);
	return to;
}

static void watch(int epoll, int fd, enum kind kind, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.u64 = (uint64_t)kind << 32 | (uint32_t)fd};
	need(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
}

// A timer that is due after `first_ns`, and every `each_ns` from then on.
static int timer(uint64_t first_ns, uint64_t each_ns)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	struct itimerspec times = {
		.it_value = {first_ns / 1000000000, first_ns % 1000000000},
		.it_interval = {each_ns / 1000000000, each_ns % 1000000000},
	};
	need(fd >= 0 && timerfd_settime(fd, 0, &times, NULL) == 0, "timerfd");
	return fd;
}

struct counts {
	uint64_t sent, received, tcp_bytes, delay_ns;
};

int main(int count, char **words)
{
	need(count == 5, "four arguments");
	int flows = atoi(words[1]);
	double kbps = atof(words[2]);
	uint64_t warm_ns = atof(words[3]) * 1e9, measured_ns = atof(words[4]) * 1e9;
	need(flows >= 0 && flows <= MOST_FLOWS && kbps > 0, "arguments in range");
	int epoll = epoll_create1(0);
	int one = 1, mss = MSS, lowat = CHUNK;
	struct sockaddr_in tcp = address(5202), udp = address(5201);

	enter("/run/netns/dst");
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	need(bind(listener, (void *)&tcp, sizeof tcp) == 0 && listen(listener, MOST_FLOWS) == 0, "listen");
	int sink = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	need(bind(sink, (void *)&udp, sizeof udp) == 0, "bind");
	watch(epoll, sink, UDP_SINK, EPOLLIN);

	enter("/run/netns/src");
	int senders[MOST_FLOWS], receivers[MOST_FLOWS];
	for (int flow = 0; flow < flows; flow++) {
		int fd = senders[flow] = socket(AF_INET, SOCK_STREAM, 0);
		need(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4) == 0, "reno");
		need(setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof mss) == 0, "mss");
		setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &lowat, sizeof lowat);
		need(connect(fd, (void *)&tcp, sizeof tcp) == 0, "connect");
		receivers[flow] = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
		need(receivers[flow] >= 0, "accept");
		fcntl(fd, F_SETFL, O_NONBLOCK);
	}
	for (int flow = 0; flow < flows; flow++) {
		watch(epoll, senders[flow], SENDER, EPOLLOUT | EPOLLET);
		watch(epoll, receivers[flow], RECEIVER, EPOLLIN);
	}
	int source = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	need(connect(source, (void *)&udp, sizeof udp) == 0, "udp");
	uint64_t between_ns = PACKET * 8 * 1e6 / kbps;
	watch(epoll, timer(between_ns, between_ns), UDP_CLOCK, EPOLLIN);
	int end = timer(warm_ns, measured_ns);
	watch(epoll, end, END, EPOLLIN);

	struct counts all = {0}, before = {0};
	for (int ends = 0; ends < 2;) {
		struct epoll_event events[64];
		int ready = epoll_wait(epoll, events, 64, -1);
		for (int at = 0; at < ready; at++) {
			int fd = (int)(uint32_t)events[at].data.u64;
			uint64_t due, sent_ns;
			ssize_t length;
			switch ((enum kind)(events[at].data.u64 >> 32)) {
			case SENDER:
				while (write(fd, data, sizeof data) > 0)
					;
				break;
			case RECEIVER:
				// Bytes that are only counted need not be copied.
				while ((length = recv(fd, data, sizeof data, MSG_TRUNC)) > 0)
					all.tcp_bytes += length;
				break;
			case UDP_CLOCK:
				for (need(read(fd, &due, sizeof due) == sizeof due, "clock"); due > 0; due--, all.sent++) {
					char datagram[DATA] = {0};
					sent_ns = now_ns();
					memcpy(datagram, &sent_ns, sizeof sent_ns);
					(void)!write(source, datagram, sizeof datagram);
				}
				break;
			case UDP_SINK:
				while (recv(fd, &sent_ns, sizeof sent_ns, 0) > 0) {
					all.received++;
					all.delay_ns += now_ns() - sent_ns;
				}
				break;
			case END:
				need(read(fd, &due, sizeof due) == sizeof due, "end");
				if (ends++ == 0)
					before = all;
				break;
			}
		}
	}
	uint64_t received = all.received - before.received;
	printf("RUN %llu %llu %llu %.0f\n", (unsigned long long)(all.sent - before.sent), (unsigned long long)received,
	       (unsigned long long)(all.tcp_bytes - before.tcp_bytes), received ? (all.delay_ns - before.delay_ns) / 1e3 / received : 0.0);
	// Connections are reset, so that nothing is left of them.
	struct linger linger = {.l_onoff = 1};
	for (int flow = 0; flow < flows; flow++) {
		setsockopt(senders[flow], SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
		setsockopt(receivers[flow], SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
		close(senders[flow]);
		close(receivers[flow]);
	}
	return 0;
}
