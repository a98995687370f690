/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The queue discipline around a core: packets, counters, settings, the rate. A program defines FD_NEEDS_FLOW, FD_NEEDS_CLOCK, fd_params
 * and fd_state, includes this file, and defines the functions declared as `program_...`.
 *
 * One loaded object is one queue discipline on one device: its maps and its variables are of that one alone. All of its functions run
 * under the lock of the queue discipline. */
#ifndef FAIRDROP_QDISC_H
#define FAIRDROP_QDISC_H

#include "../core/ring.h"
#include "../core/shaper.h"

/* Changes with every change of struct fd_config or struct fd_counters; the loader compares it. */
#define FD_LAYOUT 2
#define FD_SAFE_LIMIT 1000
#define FD_MOST_LIMIT 65528

/* A place of the ring with its packet. Only what a decision reads stands beside it: a queued packet can't be asked for its flow. */
struct fd_place {
    struct fd_slot slot;
    struct sk_buff FD_KPTR *skb;
};

struct fd_settings {
    fd_u32 layout;
    fd_u32 limit; /* packets */
    fd_u64 rate;  /* bit/s; 0: as fast as the device takes them */
    fd_params params;
};

/* The loader writes the settings that are not in use, and then the generation, whose last bit says which are. */
struct fd_config {
    fd_u32 generation;
    fd_u32 unused;
    struct fd_settings settings[2];
};

struct fd_amount {
    fd_u64 packets;
    fd_u64 bytes;
};

/* arrived = departed + dropped + flushed + what waits. */
struct fd_counters {
    fd_u32 layout;
    fd_u32 slots;
    fd_u32 attached;
    fd_u32 unused;
    struct fd_amount arrived;
    struct fd_amount departed;
    struct fd_amount flushed;            /* by a reset: the device went down, or the qdisc was deleted */
    struct fd_amount dropped[FD_CAUSES]; /* by cause; the first is not in use */
    fd_u64 compared;                     /* waiting packets */
    fd_u64 stuck;                        /* draws given up */
    fd_u64 unchecked;                    /* arrivals under settings out of range: a plain FIFO took them */
};

struct fd_host {
    struct Qdisc *sch;
    struct bpf_sk_buff_ptr *to_free;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 2048); /* the loader sets it: a power of two */
    __type(key, __u32);
    __type(value, struct fd_place);
} places SEC(".maps");

struct fd_config config SEC(".data.config") = {};
struct fd_counters counters SEC(".data.counters") = { .layout = FD_LAYOUT };

/* The queue. Not static: clang would split the structure, whose description the kernel then refuses. */
struct {
    struct fd_settings active;
    struct fd_ring ring;
    struct fd_shaper shaper;
    fd_state state;
    fd_u64 owner; /* the queue discipline that it belongs to */
    fd_u32 generation;
    fd_u32 is_valid; /* the settings in use are within bounds */
} own;

static int program_valid(const fd_params *params);
static void program_init(fd_u64 now);
static fd_u32 program_arrival(struct fd_host *host, struct sk_buff *skb, fd_u32 flow, fd_u32 len, fd_u64 now);
static void program_idle(fd_u64 now);
#if FD_NEEDS_CLOCK
/* A packet leaves that has waited so long; others wait behind it. */
static void program_departure(struct fd_host *host, fd_u32 flow, fd_u32 len, fd_u64 wait, fd_u64 now);
#endif

FD_INLINE void count(struct fd_amount *amount, fd_u32 len)
{
    amount->packets++;
    amount->bytes += len;
}

FD_INLINE fd_u32 fd_random(struct fd_host *host, enum fd_stream stream)
{
    return bpf_get_prandom_u32();
}

FD_INLINE fd_u64 fd_random_64(struct fd_host *host, enum fd_stream stream)
{
    return (fd_u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32();
}

/* D. Lemire, ACM TOMACS 29(1), 2019, algorithm 5, with 32 bits; numbers cut to the bits of n where n has more. Given up, it is 0. */
FD_INLINE fd_u64 fd_below(struct fd_host *host, enum fd_stream stream, fd_u64 n)
{
    if (n >> 32) {
        fd_u64 mask = n - 1;
        for (int shift = 1; shift < 64; shift *= 2)
            mask |= mask >> shift;
        fd_repeat(i, FD_MOST_REDRAWS) {
            fd_u64 bits = fd_random_64(host, stream) & mask;
            if (bits < n)
                return bits;
        }
        return 0;
    }
    fd_u64 wide = bpf_get_prandom_u32() * n;
    if ((fd_u32)wide < n) {
        fd_u32 refused_below = -(fd_u32)n % (fd_u32)n;
        fd_repeat(j, FD_MOST_REDRAWS) {
            if ((fd_u32)wide >= refused_below)
                break;
            wide = bpf_get_prandom_u32() * n;
        }
    }
    return wide >> 32;
}

FD_INLINE struct fd_slot *fd_slot_at(struct fd_host *host, fd_u32 index)
{
    return bpf_map_lookup_elem(&places, &index);
}

FD_INLINE void fd_move_packet(struct fd_host *host, fd_u32 to, fd_u32 from)
{
    struct fd_place *old = bpf_map_lookup_elem(&places, &from), *new = bpf_map_lookup_elem(&places, &to);
    struct sk_buff *skb;
    if (!old || !new)
        return;
    skb = bpf_kptr_xchg(&old->skb, 0);
    if (!skb)
        return;
    skb = bpf_kptr_xchg(&new->skb, skb);
    if (skb) /* a hole has none */
        bpf_kfree_skb(skb);
}

FD_INLINE void fd_drop_waiting(struct fd_host *host, fd_u32 index, fd_u32 len, enum fd_cause cause)
{
    struct fd_place *place = bpf_map_lookup_elem(&places, &index);
    struct sk_buff *skb;
    if (!place)
        return;
    skb = bpf_kptr_xchg(&place->skb, 0);
    if (skb)
        bpf_qdisc_skb_drop(skb, host->to_free);
    count(&counters.dropped[cause], len);
    host->sch->q.qlen--;
    host->sch->qstats.backlog -= len;
    host->sch->qstats.drops++;
}

FD_INLINE void fd_compared(struct fd_host *host, fd_u32 index)
{
    counters.compared++;
}

FD_INLINE void fd_stuck(struct fd_host *host)
{
    counters.stuck++;
}

/* The most that may wait in the ring. */
FD_INLINE fd_u32 most_waiting(void)
{
    return (own.ring.mask + 1 - FD_SLACK) / 2;
}

/* Takes over the settings that the loader has written, once it has checked its own copy of them. */
static __attribute__((noinline)) void adopt(void)
{
    fd_u32 newest = *(volatile fd_u32 *)&config.generation;
    own.active = config.settings[newest & 1];
    own.is_valid = own.active.layout == FD_LAYOUT && own.active.limit >= 1 && own.active.limit <= most_waiting() &&
               (own.active.rate == 0 || (own.active.rate >= 8 && own.active.rate <= 1ull << 40)) && program_valid(&own.active.params);
    if (!own.is_valid) {
        own.active.limit = own.active.limit >= 1 && own.active.limit <= most_waiting() ? own.active.limit : FD_SAFE_LIMIT;
        own.active.rate = 0;
    }
    if (own.active.limit > most_waiting())
        own.active.limit = most_waiting();
    own.shaper.rate = own.active.rate;
    own.generation = newest;
}

FD_INLINE void adopt_if_changed(void)
{
    if (*(volatile fd_u32 *)&config.generation != own.generation)
        adopt();
}

FD_INLINE fd_u32 fate_of(struct fd_host *host, struct sk_buff *skb, fd_u32 flow, fd_u32 len, fd_u64 now)
{
    if (own.is_valid)
        return program_arrival(host, skb, flow, len, now);
    counters.unchecked++;
    return own.ring.packets < own.active.limit ? FD_KEPT : FD_OVERFLOW;
}

/* When a waiting packet arrived: in the memory that it lends to its queue discipline. */
FD_INLINE fd_u64 *arrived_at(struct sk_buff *skb)
{
    return (fd_u64 *)((struct qdisc_skb_cb *)skb->cb)->data;
}

SEC("struct_ops/enqueue")
int BPF_PROG(enqueue, struct sk_buff *skb, struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free)
{
    struct fd_host host = { .sch = sch, .to_free = to_free };
    fd_u32 len = *(fd_u32 *)&skb->cb[0]; /* qdisc_skb_cb.pkt_len */
    fd_u32 flow = FD_NEEDS_FLOW ? bpf_skb_get_hash(skb) : 0, fate, index = FD_NO_PLACE;
    struct fd_place *place;
    /* To the others time matters at the first packet after an idle time alone. */
    fd_u64 now = FD_NEEDS_CLOCK || own.ring.packets == 0 ? bpf_ktime_get_ns() : 0;

    adopt_if_changed();
    count(&counters.arrived, len);
    fate = fate_of(&host, skb, flow, len, now);
    if (fate == FD_KEPT) {
        index = fd_append(&host, &own.ring, flow, len);
        fate = FD_OVERFLOW; /* unless there is a place */
    }
    place = bpf_map_lookup_elem(&places, &index);
    if (place) {
        if (FD_NEEDS_CLOCK)
            *arrived_at(skb) = now;
        skb = bpf_kptr_xchg(&place->skb, skb);
        if (skb)
            bpf_qdisc_skb_drop(skb, to_free);
        sch->q.qlen++;
        sch->qstats.backlog += len;
        return NET_XMIT_SUCCESS;
    }
    count(&counters.dropped[fate < FD_CAUSES ? fate : FD_OVERFLOW], len);
    sch->qstats.drops++;
    bpf_qdisc_skb_drop(skb, to_free);
    return fate == FD_OVERFLOW ? NET_XMIT_DROP : NET_XMIT_CN;
}

SEC("struct_ops/dequeue")
struct sk_buff *BPF_PROG(dequeue, struct Qdisc *sch)
{
    struct fd_host host = { .sch = sch };
    struct fd_place *place;
    struct sk_buff *skb;
    fd_u32 index, len;
    fd_u64 now = 0;

    adopt_if_changed();
    if (FD_NEEDS_CLOCK || own.shaper.rate || own.ring.packets == 0)
        now = bpf_ktime_get_ns();
    if (own.ring.packets == 0) {
        program_idle(fd_idle_from(&own.shaper, now));
        return 0;
    }
    if (!fd_may_send(&own.shaper, now)) {
        bpf_qdisc_watchdog_schedule(sch, own.shaper.free_at, 0);
        return 0;
    }
    if (!fd_pop(&host, &own.ring, &index, &len))
        return 0;
    place = bpf_map_lookup_elem(&places, &index);
    if (!place)
        return 0;
    skb = bpf_kptr_xchg(&place->skb, 0);
    if (!skb)
        return 0;
    fd_sent(&own.shaper, len, now);
    count(&counters.departed, len);
    sch->q.qlen--;
    sch->qstats.backlog -= len;
    bpf_qdisc_bstats_update(sch, skb);
#if FD_NEEDS_CLOCK
    if (own.is_valid)
        program_departure(&host, place->slot.flow, len, now - *arrived_at(skb), now);
#endif
    return skb;
}

SEC("struct_ops/init")
int BPF_PROG(init, struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
    fd_u32 slots = ((struct bpf_map *)&places)->max_entries;
    if (own.owner)
        return -EBUSY;
    if (slots < 16 || slots > 1u << 18 || slots & (slots - 1))
        return -EINVAL;
    own.owner = (fd_u64)sch;
    counters.attached = 1;
    own.ring.mask = slots - 1;
    counters.slots = slots;
    program_init(bpf_ktime_get_ns());
    adopt();
    sch->limit = own.active.limit;
    return 0;
}

SEC("struct_ops/reset")
void BPF_PROG(reset, struct Qdisc *sch)
{
    if (own.owner != (fd_u64)sch)
        return;
    fd_repeat(i, own.ring.mask + 1) {
        struct fd_place *place = bpf_map_lookup_elem(&places, &i);
        struct sk_buff *skb;
        if (!place)
            break;
        skb = bpf_kptr_xchg(&place->skb, 0);
        if (!skb)
            continue;
        count(&counters.flushed, place->slot.len);
        place->slot.len = 0;
        bpf_kfree_skb(skb);
    }
    own.ring.head = own.ring.tail = own.ring.packets = 0;
    own.ring.bytes = 0;
    sch->q.qlen = 0;
    sch->qstats.backlog = 0;
    program_idle(bpf_ktime_get_ns());
}

/* Also of a queue discipline that init has refused. */
SEC("struct_ops/destroy")
void BPF_PROG(destroy, struct Qdisc *sch)
{
    if (own.owner == (fd_u64)sch)
        own.owner = counters.attached = 0;
}

/* The loader writes a name of its own for each, in place of this one. */
SEC(".struct_ops")
struct Qdisc_ops ops = {
    .enqueue = (void *)enqueue,
    .dequeue = (void *)dequeue,
    .init = (void *)init,
    .reset = (void *)reset,
    .destroy = (void *)destroy,
    .id = "fairdrop_noname",
};

char _license[] SEC("license") = "Dual BSD/GPL";

#endif
