/* The command line after EAL's `--`. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "fairdrop.h"

enum kind {
    KIND_NONE,    /* No queue: from one device to the other. */
    KIND_RTE_RED, /* DPDK's RED over a ring of pointers. */
    KIND_FAIRDROP
};

struct red_options {
    uint16_t min_th, max_th, maxp_inv, wq_log2;
};

struct options {
    enum kind kind;
    const char *discipline;
    fairdrop_params params;
    struct red_options red;
    uint32_t limit;
    uint64_t rate_bps;    /* 0: as fast as it goes. */
    uint64_t offered_bps; /* Of virtual time; 0: time is real. */
    uint64_t packets;     /* 0: until a signal. */
    uint64_t key[4];      /* Of flow numbers, and of the queue's tables. */
    uint64_t seed;
    uint32_t hold, fill, mbufs;
    bool json, flows;
};

/* Ends the program with a sentence on standard error where the words are not valid. */
void options_read(struct options *options, int count, char **words);

/* Ends the program with a sentence. */
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
