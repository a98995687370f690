/* Forwards UDP datagrams between two ports of this machine through a bottleneck with a queue discipline of fairdrop.
 *
 *     forward LISTEN TO RATE DISCIPLINE [NAME=VALUE]...
 *     forward 9000 9001 1000000 choke limit=100p red.min_th=10 red.max_th=50
 *
 * Datagrams to port LISTEN leave for port TO at RATE bit/s; LISTEN 0 takes a free port, which is printed. A flow is what comes
 * from one address and port. SIGINT or SIGTERM ends it, and it prints what happened to the packets of each sender, and why.
 *
 * Build: make install PREFIX=/usr/local
 *        cc -std=c99 crates/fairdrop-ffi/examples/forward.c $(pkg-config --cflags --libs fairdrop) -o forward
 *
 * Nothing is allocated: packets wait in a pool of fixed size, and the queue lives in a static block.
 */
#define _POSIX_C_SOURCE 200112L

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "fairdrop.h"

enum {
    POOL = 1024,     /* Packets that may wait or be in transmission. */
    MTU = 1500,      /* Longest datagram. */
    SENDERS = 16,    /* Senders that are counted on their own; the rest are counted together. */
    IP_AND_UDP = 28, /* Bytes of the headers of a datagram on the wire. */
    BATCH = 64       /* Datagrams taken at once before the transmitter is looked after. */
};

struct buffer {
    unsigned char bytes[MTU];
    size_t length;
    size_t sender;
    size_t next_free;
};

struct sender {
    uint16_t port;
    unsigned long arrived, dropped, forwarded;
};

/* The block that the queue lives in: 64-bit words, so that it is aligned. */
static uint64_t block[1 << 17];

static struct buffer pool[POOL];
static size_t first_free;
static struct sender senders[SENDERS];
static size_t sender_count;
/* Of this run alone: the key that makes numbers of flows, and the key and the seed of the queue. Whoever could guess them
 * could send under addresses that share a number, crowd into one place of a table, or are spared by draws. */
static struct {
    uint64_t hash[2], flow[2], seed;
} secret;
static volatile sig_atomic_t ending;

static void end(int signal_number) {
    (void)signal_number;
    ending = 1;
}

static void fail(const char *what, const char *why) {
    fprintf(stderr, "forward: %s: %s\n", what, why);
    exit(1);
}

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Fills the secret from the system's random source; a kernel that has just begun makes it wait. */
static void take_secret(void) {
    if (getrandom(&secret, sizeof secret, 0) != (ssize_t)sizeof secret) fail("getrandom", strerror(errno));
}

/* Buffers of the pool are numbered; the number of the first free one is POOL when there is none. */
static size_t take_buffer(void) {
    size_t number = first_free;
    if (number < POOL) first_free = pool[number].next_free;
    return number;
}

static void give_buffer(size_t number) {
    pool[number].next_free = first_free;
    first_free = number;
}

static size_t free_buffers(void) {
    size_t count = 0, number;
    for (number = first_free; number < POOL; number = pool[number].next_free) ++count;
    return count;
}

static size_t sender_of(uint16_t port) {
    size_t number;
    for (number = 0; number < sender_count; ++number) {
        if (senders[number].port == port) return number;
    }
    if (sender_count == SENDERS) return SENDERS - 1;
    senders[sender_count].port = port;
    return sender_count++;
}

/* A dropped packet comes back here, whether it has just arrived or had waited. */
static void on_drop(void *context, const fairdrop_packet *packet, fairdrop_cause cause) {
    size_t number = (size_t)packet->cookie;
    (void)context;
    (void)cause;
    ++senders[pool[number].sender].dropped;
    give_buffer(number);
}

static fairdrop_queue *make_queue(int count, char **words) {
    fairdrop_params params;
    fairdrop_host host;
    fairdrop_error error;
    fairdrop_queue *queue;
    size_t size;
    char *rest;
    uint64_t rate = strtoull(words[0], &rest, 10);
    int at;

    if (*rest != '\0') fail(words[0], "the rate is a whole number of bit/s");
    if (fairdrop_params_init(&params, words[1], rate, &error) < 0) fail(words[1], error.message);
    for (at = 2; at < count; ++at) {
        char *value = strchr(words[at], '=');
        if (value == NULL) fail(words[at], "parameters are given as NAME=VALUE");
        *value++ = '\0';
        if (fairdrop_params_set(&params, words[at], value, &error) < 0) fail(words[at], error.message);
    }
    size = fairdrop_size(&params, &error);
    if (size == 0) fail(error.parameter, error.message);
    if (size > sizeof block) fail("limit", "the queue needs more memory than this program has for it");
    memset(&host, 0, sizeof host);
    host.dropped = on_drop;
    host.flow_key = secret.flow;
    host.seed = secret.seed;
    queue = fairdrop_init(block, sizeof block, &params, &host, &error);
    if (queue == NULL) fail(error.parameter, error.message);
    return queue;
}

static uint16_t port_of(const char *text) {
    char *rest;
    unsigned long port = strtoul(text, &rest, 10);
    if (*text == '\0' || *rest != '\0' || port > 65535) fail(text, "a port is a number from 0 to 65535");
    return (uint16_t)port;
}

static struct sockaddr_in on_this_machine(uint16_t port) {
    struct sockaddr_in address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static int open_socket(uint16_t port) {
    struct sockaddr_in address = on_this_machine(port);
    socklen_t length = sizeof address;
    int room = 1 << 20;
    int in = socket(AF_INET, SOCK_DGRAM, 0);
    if (in < 0) fail("socket", strerror(errno));
    setsockopt(in, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    if (bind(in, (struct sockaddr *)&address, sizeof address) < 0) fail("bind", strerror(errno));
    if (getsockname(in, (struct sockaddr *)&address, &length) < 0) fail("getsockname", strerror(errno));
    printf("listening on port %u\n", (unsigned)ntohs(address.sin_port));
    fflush(stdout);
    return in;
}

/* Admits a datagram if one is there and the pool has room for it; returns whether there was one. */
static bool receive(int in, fairdrop_queue *queue) {
    struct sockaddr_in from;
    socklen_t from_length = sizeof from;
    fairdrop_packet packet;
    unsigned char key[7];
    size_t number = take_buffer();
    ssize_t length;

    if (number == POOL) fail("pool", "the limit of the queue is above what the pool holds");
    length = recvfrom(in, pool[number].bytes, MTU, MSG_DONTWAIT, (struct sockaddr *)&from, &from_length);
    if (length < 0) {
        give_buffer(number);
        if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) fail("recvfrom", strerror(errno));
        return false;
    }
    pool[number].length = (size_t)length;
    pool[number].sender = sender_of(ntohs(from.sin_port));
    ++senders[pool[number].sender].arrived;

    /* The flow: protocol, source address and port. The destination is the same for all. */
    key[0] = IPPROTO_UDP;
    memcpy(key + 1, &from.sin_addr.s_addr, 4);
    memcpy(key + 5, &from.sin_port, 2);
    memset(&packet, 0, sizeof packet);
    packet.flow = fairdrop_hash(secret.hash[0], secret.hash[1], key, sizeof key);
    packet.len = (uint32_t)length + IP_AND_UDP;
    packet.cookie = number;
    if (fairdrop_enqueue(queue, &packet, now_ns()) != FAIRDROP_STATUS_OK) fail("fairdrop_enqueue", "refused a packet");
    return true;
}

/* Takes the packet to transmit next, and sends it; returns when its last bit has left, or 0 when nothing waits. */
static uint64_t transmit(int in, const struct sockaddr_in *to, fairdrop_queue *queue, uint64_t now, uint64_t rate) {
    fairdrop_packet packet;
    struct buffer *buffer;
    if (fairdrop_dequeue(queue, now, &packet) != FAIRDROP_STATUS_OK) return 0;
    buffer = &pool[packet.cookie];
    /* A receiver that is not there is no matter of the link's. */
    (void)sendto(in, buffer->bytes, buffer->length, 0, (const struct sockaddr *)to, sizeof *to);
    ++senders[buffer->sender].forwarded;
    give_buffer((size_t)packet.cookie);
    return now + (uint64_t)packet.len * 8u * 1000000000u / rate;
}

static void run(int in, const struct sockaddr_in *to, fairdrop_queue *queue, uint64_t rate) {
    uint64_t busy_until = 0;
    while (!ending) {
        uint64_t now = now_ns(), deadline;
        struct pollfd waiting;
        int timeout = -1, count;

        if (fairdrop_deadline(queue, &deadline) == FAIRDROP_STATUS_OK && deadline <= now) fairdrop_tick(queue, now);
        if (busy_until <= now) busy_until = transmit(in, to, queue, now, rate);
        if (busy_until > 0) timeout = busy_until > now ? (int)((busy_until - now + 999999u) / 1000000u) : 0;
        if (fairdrop_deadline(queue, &deadline) == FAIRDROP_STATUS_OK && deadline > now) {
            uint64_t wait = (deadline - now + 999999u) / 1000000u;
            if (timeout < 0 || wait < (uint64_t)timeout) timeout = wait < 60000u ? (int)wait : 60000;
        }
        waiting.fd = in;
        waiting.events = POLLIN;
        waiting.revents = 0;
        /* A signal between the look at `ending` and this call is seen a second later. */
        if (timeout < 0 || timeout > 1000) timeout = 1000;
        if (poll(&waiting, 1, timeout) <= 0) continue;
        for (count = 0; count < BATCH && receive(in, queue); ++count) {
        }
    }
}

/* Prints what happened, and returns whether every packet is accounted for. */
static bool report(const fairdrop_queue *queue) {
    fairdrop_counters counters;
    fairdrop_count backlog, dropped;
    size_t number;
    fairdrop_stats(queue, &counters);
    fairdrop_backlog(queue, &backlog);
    for (number = 0; number < sender_count; ++number) {
        printf("sender %u arrived %lu forwarded %lu dropped %lu\n", (unsigned)senders[number].port,
               senders[number].arrived, senders[number].forwarded, senders[number].dropped);
    }
    for (number = 0; number < fairdrop_cause_count(); ++number) {
        fairdrop_dropped(queue, (uint8_t)number, &dropped);
        if (dropped.packets > 0) printf("cause %s %llu\n", fairdrop_cause_name((uint8_t)number), (unsigned long long)dropped.packets);
    }
    printf("arrived %llu departed %llu dropped %llu backlog %llu\n", (unsigned long long)counters.arrived.packets,
           (unsigned long long)counters.departed.packets, (unsigned long long)counters.dropped.packets,
           (unsigned long long)backlog.packets);
    return counters.arrived.packets == counters.departed.packets + counters.dropped.packets + backlog.packets &&
           free_buffers() + (size_t)backlog.packets == POOL;
}

int main(int count, char **words) {
    struct sockaddr_in to;
    struct sigaction action;
    fairdrop_queue *queue;
    size_t number;
    int in;

    if (count < 5) fail("usage", "forward LISTEN TO RATE DISCIPLINE [NAME=VALUE]...");
    if (fairdrop_abi_version() != FAIRDROP_ABI_VERSION) fail("library", "compiled with the header of another version");
    for (number = 0; number < POOL; ++number) give_buffer(POOL - 1 - number);
    pool[POOL - 1].next_free = POOL;
    take_secret();
    queue = make_queue(count - 3, words + 3);
    memset(&action, 0, sizeof action);
    action.sa_handler = end;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    to = on_this_machine(port_of(words[2]));
    in = open_socket(port_of(words[1]));
    run(in, &to, queue, strtoull(words[3], NULL, 10));
    if (!report(queue)) fail("report", "packets are missing");
    close(in);
    return 0;
}
