/* One direction of the forwarder: what comes in at one port leaves at another, through a queue and at a rate. */
#ifndef FORWARD_H
#define FORWARD_H

#include "options.h"
#include "queue.h"

struct path {
    uint16_t in, out;
    struct queue queue;

    /* The transmitter: when it is free, and bit-nanoseconds that are less than a nanosecond of it. */
    uint64_t free_at, rest;
    /* It found nothing to send, and waits for an arrival or the timer. */
    bool idle;

    /* In virtual time, when the last packet came. */
    uint64_t arrived_at, arrival_rest;

    struct rte_mbuf *leaving[BURST];
    unsigned leaving_count;
    fairdrop_count received, sent, unsent;
};

/* Seconds that the forwarder has run: of the clock it goes by, and of the processor. */
struct duration {
    double clock, processor;
};

/* Prints the counters; returns whether every packet is accounted for. */
bool report(const struct options *options, const struct path *paths, unsigned count, struct duration duration);

#endif
