/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a core borrows from its host: time and lengths as arguments, random numbers, the memory of the ring, and the fate of
 * dropped packets through these functions. The kernel glue (kernel/qdisc.h) and the native player (native/play.c) define them. */
#ifndef FAIRDROP_HOST_H
#define FAIRDROP_HOST_H

#include "types.h"

/* Purposes of random numbers, numbered as in conformance/README.md. */
enum fd_stream {
    FD_CANDIDATE = 0,
    FD_EARLY_DROP = 1,
    FD_DRAWING_FRACTION = 2,
    FD_WARD_COIN = 3,
    FD_PIE_DRAW = 5,
    FD_FILTER_DRAW = 10,
};

/* Fate of a packet. FD_KEPT is no drop; FD_MARKED may be added to a cause of RED or COLLAR. */
enum fd_cause {
    FD_KEPT = 0,
    FD_RED_EARLY,
    FD_RED_FORCED,
    FD_MATCH_ARRIVING,
    FD_MATCH_QUEUED,
    FD_WARD_PAIR_QUEUED,
    FD_OVERFLOW,
    FD_FILTER,
    FD_MEMORY,
    FD_PIE,
    FD_CAUSES,
    FD_MARKED = 0x100,
};

/* A place of the ring, beside the packet that the host keeps for it. */
struct fd_slot {
    fd_u32 flow;
    fd_u32 len; /* bytes; 0 is a hole */
};

struct fd_host;

/* 32 random bits. */
static fd_u32 fd_random(struct fd_host *host, enum fd_stream stream);
/* 64 of them. */
static fd_u64 fd_random_64(struct fd_host *host, enum fd_stream stream);
/* A whole number below n, each with the same probability; n is at least 1. */
static fd_u64 fd_below(struct fd_host *host, enum fd_stream stream, fd_u64 n);
/* The slot with this index, or none beyond the ring. */
static struct fd_slot *fd_slot_at(struct fd_host *host, fd_u32 index);
/* Moves a packet, whose slot has been copied already. */
static void fd_move_packet(struct fd_host *host, fd_u32 to, fd_u32 from);
/* Drops the packet of a slot, whose length is given, and counts it. */
static void fd_drop_waiting(struct fd_host *host, fd_u32 index, fd_u32 len, enum fd_cause cause);
/* A waiting packet is compared with an arrival. */
static void fd_compared(struct fd_host *host, fd_u32 index);
/* A draw was given up: the random source repeats itself. */
static void fd_stuck(struct fd_host *host);

#endif
