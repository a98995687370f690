/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A FIFO in a ring of slots whose removed packets leave holes: conformance/README.md, "With the ring". Both ends of the span are
 * packets. A draw that meets a hole is made again, so each waiting packet has exactly the same probability; when holes
 * outnumber packets the ring is closed up, so that a draw takes fewer than about two tries. */
#ifndef FAIRDROP_RING_H
#define FAIRDROP_RING_H

#include "host.h"

/* Holes beyond the number of packets before a draw closes up. */
#define FD_SLACK 8
/* Numbers after which a draw is given up: with random ones the probability of that is below 2^-64. */
#define FD_MOST_REDRAWS 1024
/* Rejections after which a draw by weight adds weights up instead; the probabilities are the same. */
#define FD_MOST_REJECTIONS 64
/* Candidates of one arrival. */
#define FD_MOST_CANDIDATES 8
#define FD_NO_PLACE 0xffffffffu

struct fd_ring {
    fd_u32 mask; /* slots less one, which are a power of two */
    fd_u32 head; /* number of the oldest packet's slot */
    fd_u32 tail; /* number after the newest packet's */
    fd_u32 packets;
    fd_u64 bytes;
};

/* Places drawn for one arrival: numbers of slots. It lies in the memory of the queue, whose contents the verifier doesn't follow:
 * on the stack it would follow every number of candidates and every place. */
struct fd_drawn {
    fd_u32 place[FD_MOST_CANDIDATES];
    fd_u32 count;
    fd_u32 tries;
};

/* A unit of draws: 0 for packets, or a packet counts with its length / cell, rounded up. */
struct fd_weights {
    fd_u32 cell;
    fd_u32 heaviest; /* weight of a packet queued since the queue was last empty */
    fd_u64 left;     /* of a sum; here for the same reason as struct fd_drawn */
};

FD_INLINE fd_u32 fd_span(const struct fd_ring *ring)
{
    return ring->tail - ring->head;
}

FD_INLINE fd_u32 fd_index(const struct fd_ring *ring, fd_u32 number)
{
    return number & ring->mask;
}

/* Length of the packet in a slot; 0 for a hole. */
FD_INLINE fd_u32 fd_len_at(struct fd_host *host, const struct fd_ring *ring, fd_u32 number)
{
    struct fd_slot *slot = fd_slot_at(host, fd_index(ring, number));
    return slot ? slot->len : 0;
}

FD_INLINE void fd_skip_holes_at_head(struct fd_host *host, struct fd_ring *ring)
{
    fd_repeat(i, ring->mask + 1) {
        if (ring->head == ring->tail || fd_len_at(host, ring, ring->head))
            break;
        ring->head++;
    }
}

FD_INLINE void fd_skip_holes_at_tail(struct fd_host *host, struct fd_ring *ring)
{
    fd_repeat(i, ring->mask + 1) {
        if (ring->head == ring->tail || fd_len_at(host, ring, ring->tail - 1))
            break;
        ring->tail--;
    }
}

/* Moves the packets together, in order, from the head on. */
FD_INLINE void fd_close_up(struct fd_host *host, struct fd_ring *ring)
{
    fd_u32 to = ring->head;
    fd_repeat(i, fd_span(ring)) {
        fd_u32 from = ring->head + i;
        struct fd_slot *old = fd_slot_at(host, fd_index(ring, from));
        if (!old || !old->len)
            continue;
        if (to != from) {
            struct fd_slot *moved = fd_slot_at(host, fd_index(ring, to));
            if (!moved)
                break;
            *moved = *old;
            old->len = 0;
            fd_move_packet(host, fd_index(ring, to), fd_index(ring, from));
        }
        to++;
    }
    ring->tail = to;
}

/* Appends what the host puts into the returned slot; the caller has checked the limit, which leaves room after closing up. */
FD_INLINE fd_u32 fd_append(struct fd_host *host, struct fd_ring *ring, fd_u32 flow, fd_u32 len)
{
    struct fd_slot *slot;
    fd_u32 index;
    if (fd_span(ring) > ring->mask)
        fd_close_up(host, ring);
    index = fd_index(ring, ring->tail);
    slot = fd_slot_at(host, index);
    if (!slot || fd_span(ring) > ring->mask)
        return FD_NO_PLACE;
    slot->flow = flow;
    slot->len = len;
    ring->tail++;
    ring->packets++;
    ring->bytes += len;
    return index;
}

/* Empties the slot of the oldest packet, whose index and length it gives; false when none waits. */
FD_INLINE int fd_pop(struct fd_host *host, struct fd_ring *ring, fd_u32 *index, fd_u32 *len)
{
    struct fd_slot *slot;
    *index = fd_index(ring, ring->head);
    slot = fd_slot_at(host, *index);
    if (ring->packets == 0 || !slot)
        return 0;
    *len = slot->len;
    slot->len = 0;
    ring->head++;
    ring->packets--;
    ring->bytes -= *len;
    if (ring->packets != fd_span(ring) && !fd_len_at(host, ring, ring->head))
        fd_skip_holes_at_head(host, ring);
    return 1;
}

/* Drops the waiting packet in a slot; the others keep their order. */
FD_INLINE void fd_discard(struct fd_host *host, struct fd_ring *ring, fd_u32 number, enum fd_cause cause)
{
    struct fd_slot *slot = fd_slot_at(host, fd_index(ring, number));
    fd_u32 len;
    if (!slot || !slot->len)
        return;
    len = slot->len;
    slot->len = 0;
    ring->packets--;
    ring->bytes -= len;
    fd_drop_waiting(host, fd_index(ring, number), len, cause);
    if (number == ring->head)
        fd_skip_holes_at_head(host, ring);
    else if (number == ring->tail - 1)
        fd_skip_holes_at_tail(host, ring);
}

FD_INLINE void fd_close_up_if_leaky(struct fd_host *host, struct fd_ring *ring)
{
    if (fd_span(ring) > 2 * ring->packets + FD_SLACK)
        fd_close_up(host, ring);
}

/* The number of any slot between the oldest packet and the newest. */
FD_INLINE fd_u32 fd_draw_slot(struct fd_host *host, const struct fd_ring *ring)
{
    return ring->head + (fd_u32)fd_below(host, FD_CANDIDATE, fd_span(ring));
}

/* The number of a waiting packet's slot, each with the same probability; FD_NO_PLACE when none waits. Most draws are the first,
 * which is spared the loop: in the kernel one costs three calls. */
FD_INLINE fd_u32 fd_draw(struct fd_host *host, struct fd_ring *ring)
{
    fd_u32 number;
    if (ring->packets == 0)
        return FD_NO_PLACE;
    fd_close_up_if_leaky(host, ring);
    number = fd_draw_slot(host, ring);
    if (fd_len_at(host, ring, number))
        return number;
    fd_repeat(i, FD_MOST_REDRAWS) {
        number = fd_draw_slot(host, ring);
        if (fd_len_at(host, ring, number))
            return number;
    }
    fd_stuck(host);
    return FD_NO_PLACE;
}

FD_INLINE int fd_is_drawn(const struct fd_drawn *drawn, fd_u32 number)
{
    fd_repeat(i, drawn->count) {
        if (drawn->place[i & (FD_MOST_CANDIDATES - 1)] == number)
            return 1;
    }
    return 0;
}

FD_INLINE void fd_add_drawn(struct fd_drawn *drawn, fd_u32 number)
{
    fd_u32 count = drawn->count;
    if (count < FD_MOST_CANDIDATES) {
        drawn->place[count & (FD_MOST_CANDIDATES - 1)] = number;
        drawn->count = count + 1;
    }
}

/* The weight of a packet, at least 1. */
FD_INLINE fd_u32 fd_weight(const struct fd_weights *weights, fd_u32 len)
{
    if (weights->cell == 0 || len == 0)
        return 1;
    return (len + weights->cell - 1) / weights->cell;
}

/* The kernel glue takes these out of line: the verifier follows a function on its own once, and not for each way into its loops. */
#ifndef FD_IS_DRAWN
#define FD_IS_DRAWN fd_is_drawn
#define FD_WALK_TO_WEIGHT fd_walk_to_weight
#endif

/* The same, where holes weigh nothing, nor packets that were drawn already, if these are given. */
FD_INLINE fd_u32 fd_weight_at(struct fd_host *host, const struct fd_ring *ring, const struct fd_weights *weights,
                              const struct fd_drawn *drawn, fd_u32 number)
{
    fd_u32 len = fd_len_at(host, ring, number);
    if (!len || (drawn && FD_IS_DRAWN(drawn, number)))
        return 0;
    return fd_weight(weights, len);
}

/* The slot whose weight, added to those before it, exceeds a number below their sum. */
FD_INLINE fd_u32 fd_walk_to_weight(struct fd_host *host, const struct fd_ring *ring, struct fd_weights *weights,
                                   const struct fd_drawn *drawn)
{
    weights->left = 0;
    fd_repeat(i, fd_span(ring))
        weights->left += fd_weight_at(host, ring, weights, drawn, ring->head + i);
    if (weights->left == 0)
        return FD_NO_PLACE;
    weights->left = fd_below(host, FD_CANDIDATE, weights->left);
    fd_repeat(j, fd_span(ring)) {
        fd_u32 weight = fd_weight_at(host, ring, weights, drawn, ring->head + j);
        if (weights->left < weight)
            return ring->head + j;
        weights->left -= weight;
    }
    return FD_NO_PLACE;
}

/* The number of a waiting packet's slot, with a probability proportional to its weight. Every slot counts as heaviest places, and
 * the packet fills as many as it weighs: a place is drawn until it is a filled one. */
FD_INLINE fd_u32 fd_draw_by_weight(struct fd_host *host, struct fd_ring *ring, struct fd_weights *weights,
                                   const struct fd_drawn *drawn)
{
    fd_u32 heaviest = weights->heaviest ? weights->heaviest : 1;
    if (ring->packets == 0)
        return FD_NO_PLACE;
    fd_close_up_if_leaky(host, ring);
    fd_repeat(i, FD_MOST_REJECTIONS) {
        fd_u64 place = fd_below(host, FD_CANDIDATE, (fd_u64)fd_span(ring) * heaviest);
        fd_u32 number = ring->head + (fd_u32)(place / heaviest);
        if (place % heaviest < fd_weight_at(host, ring, weights, drawn, number))
            return number;
    }
    return FD_WALK_TO_WEIGHT(host, ring, weights, drawn);
}

#endif
