/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A queue discipline of the kernel, as the comparison calls it. */
#ifndef HOST_H
#define HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct Qdisc;
struct nlattr;

/* A packet. `ecn` is the field of the header: 0 not capable, 1 ECT(1), 2 ECT(0), 3 congestion experienced. */
struct arrival {
    uint64_t id, flow, source, destination;
    unsigned int len;
    uint8_t ecn;
};

/* The discipline `name` with a table of attributes in `options->data`; NULL where there is none or it refuses them. */
struct Qdisc *kernel_new(const char *name, const struct nlattr *options, uint64_t (*random)(void), void (*drop)(uint64_t id));

/* Sets the clock; timers that are due by then run first, each at its own time. */
void kernel_set_time(uint64_t ns);

/* An arrival. Returns the number of packets that were marked. */
unsigned int kernel_enqueue(struct Qdisc *sch, const struct arrival *arrival);

/* A departure, if there is one. */
bool kernel_dequeue(struct Qdisc *sch, struct arrival *departure, unsigned int *marked);

/* The hash of a flow under a key, which the comparison gives. */
uint64_t kernel_flow_hash(uint64_t key_low, uint64_t key_high, uint64_t number);

#endif
