/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* COLLAR in integers, line by line as docs/reference/disciplines/collar-integer.md has it; that page says why. Its names are used here:
 * a number in Qn counts parts of 2^-n, lengths are in bytes, times in ns, counts in sixteenths of a byte. */
#ifndef FAIRDROP_COLLAR_H
#define FAIRDROP_COLLAR_H

#include "../core/host.h"

/* Memory is reserved for these; both are powers of two. */
#define FD_MOST_IDS 4096
#define FD_MOST_SETS 256

#define FD_BLOCK 32 /* ids that an arrival is compared with */
#define FD_WAYS 8   /* places of a set */
#define FD_PERIOD 16000000ull
#define FD_SLACK_MOST 91750u /* 1.4, Q16 */
#define FD_Q16 65536u
#define FD_TAG 0xffffffull
#define FD_COUNT_MOST ((1ull << 40) - 1)
#define FD_SENT_MOST ((1ull << 39) - 1)
#define FD_NS_MOST 0xffffffffull

struct fd_collar_params {
    fd_u32 target; /* ns */
    fd_u32 span;   /* ns */
    fd_u32 share;  /* Q16 */
    fd_u32 ids;    /* a multiple of 128 */
    fd_u32 sets;
    fd_u32 ecn;
};

struct fd_collar {
    /* Of samples. */
    fd_u64 quick, steady;
    fd_u64 weight, sent;
    fd_u64 size16, pace16, passed16, turns16;
    fd_u64 distance;
    fd_s64 until;
    fd_u64 last_sample;
    fd_u64 delay, old_delay;
    /* Of updates. */
    fd_u64 root, widened, next_update;
    /* For arrivals. */
    fd_u64 per_size, limit, allowed, kept, knee, knee2, phi, wide, base, by_share, spared;
    fd_u32 remembered, matches, busy, pressed;
    fd_u32 ids, sets; /* that memory and table were begun for */
    fd_u32 memory[FD_MOST_IDS];
    /* A place: the count, and below it the lowest 24 bits of the id. */
    fd_u64 table[FD_MOST_SETS * FD_WAYS];
};

/* A part of probability, as numerator and denominator. */
struct fd_part {
    fd_u64 below, of;
};

FD_INLINE int fd_collar_valid(const struct fd_collar_params *params)
{
    return params->target >= 1000 && params->span >= 1000 && params->share >= 1 && params->share <= FD_Q16 &&
           params->ids >= 128 && params->ids <= FD_MOST_IDS && params->ids % 128 == 0 && params->sets >= 1 &&
           params->sets <= FD_MOST_SETS && params->ecn <= 1;
}

FD_INLINE fd_u64 fd_min(fd_u64 a, fd_u64 b)
{
    return a < b ? a : b;
}

FD_INLINE fd_u64 fd_max(fd_u64 a, fd_u64 b)
{
    return a > b ? a : b;
}

FD_INLINE fd_s64 fd_clamp(fd_s64 x, fd_s64 low, fd_s64 high)
{
    return x < low ? low : x > high ? high : x;
}

/* The number of bits of x; 0 for 0. */
FD_INLINE fd_u32 fd_bits(fd_u64 x)
{
    fd_u32 bits = x != 0;
    for (fd_u32 shift = 32; shift; shift /= 2) {
        if (x >> shift) {
            x >>= shift;
            bits += shift;
        }
    }
    return bits;
}

/* The shift that leaves at most `most` bits. */
FD_INLINE fd_u32 fd_excess_bits(fd_u64 x, fd_u32 most)
{
    fd_u32 bits = fd_bits(x);
    return bits > most ? bits - most : 0;
}

FD_INLINE fd_u64 fd_mean16(fd_u64 sum16, fd_u64 sample)
{
    return sum16 - (sum16 >> 4) + sample;
}

FD_INLINE fd_u64 fd_first16(fd_u64 sum16, fd_u64 sample)
{
    return sum16 == 0 ? 16 * sample : fd_mean16(sum16, sample);
}

/* Q31. */
FD_INLINE fd_u64 fd_collar_s(const struct fd_collar *collar)
{
    return fd_min(collar->quick, collar->steady) >> 16;
}

FD_INLINE fd_u64 fd_collar_fair(const struct fd_collar *collar)
{
    return collar->sent * (fd_collar_s(collar) >> 7) >> 24;
}

FD_INLINE fd_u64 fd_collar_count(const struct fd_collar *collar, fd_u64 bytes)
{
    return bytes * (collar->weight >> 15) >> 12;
}

/* ns of a mean packet; 0 if unknown. */
FD_INLINE fd_u64 fd_collar_service(const struct fd_collar *collar)
{
    return fd_min((collar->pace16 >> 4) * (collar->size16 >> 4) >> 16, FD_NS_MOST);
}

FD_INLINE void fd_collar_loosen(struct fd_collar *collar)
{
    collar->allowed = collar->limit * collar->phi >> 16;
    collar->kept = collar->limit * collar->wide >> 16;
}

FD_INLINE void fd_collar_shares(struct fd_collar *collar, const struct fd_collar_params *params)
{
    fd_u64 s = fd_collar_s(collar);
    collar->limit = fd_max(1, fd_collar_fair(collar) * params->share >> 16);
    collar->knee = 2 * FD_Q16 - (s * s >> 46);
    collar->knee2 = collar->knee * (collar->knee - FD_Q16) >> 16;
    collar->by_share = s << 7;
    fd_collar_loosen(collar);
}

FD_INLINE void fd_collar_forget(struct fd_collar *collar)
{
    fd_repeat(i, FD_MOST_IDS)
        collar->memory[i & (FD_MOST_IDS - 1)] = 0;
    fd_repeat(j, FD_MOST_SETS * FD_WAYS)
        collar->table[j & (FD_MOST_SETS * FD_WAYS - 1)] = 0;
}

/* Also where ids or sets have changed: what was learned belongs to their old numbers. */
FD_INLINE void fd_collar_init(struct fd_collar *collar, const struct fd_collar_params *params, fd_u64 now)
{
    fd_collar_forget(collar);
    collar->ids = params->ids;
    collar->sets = params->sets;
    collar->quick = collar->steady = 1ull << 47;
    collar->weight = 1ull << 31;
    collar->sent = 16;
    collar->size16 = collar->pace16 = collar->passed16 = collar->turns16 = 0;
    collar->distance = 0;
    collar->until = 0;
    collar->last_sample = now;
    collar->delay = collar->old_delay = 0;
    collar->root = 0;
    collar->widened = FD_Q16;
    collar->next_update = now + FD_PERIOD;
    collar->per_size = collar->base = collar->spared = 0;
    collar->phi = FD_SLACK_MOST;
    collar->wide = FD_Q16;
    collar->remembered = collar->matches = collar->busy = collar->pressed = 0;
    fd_collar_shares(collar, params);
}

/* The change of root over one period, Q40. */
FD_INLINE fd_s64 fd_collar_steps(const struct fd_collar *collar, const struct fd_collar_params *params, fd_u64 aim,
                                 fd_s64 change)
{
    fd_s64 g = (fd_s64)fd_min(FD_Q16, ((100000000ull + params->target) << 16) / (100000000 + aim));
    return ((g * g >> 16) * 176 * ((fd_s64)collar->delay - (fd_s64)aim) >> 16) + (g * 3518 * change >> 16);
}

/* a / b in Q16, rounded toward zero. */
FD_INLINE fd_s64 fd_collar_ratio(fd_s64 a, fd_u64 b)
{
    fd_u64 part = fd_min(((fd_u64)(a < 0 ? -a : a) << 16) / b, 1 << 20);
    return a < 0 ? -(fd_s64)part : (fd_s64)part;
}

FD_INLINE void fd_collar_widen(struct fd_collar *collar, const struct fd_collar_params *params, fd_u64 aim, fd_s64 change)
{
    fd_s64 x = fd_collar_ratio((fd_s64)collar->delay, aim), y = fd_collar_ratio(change, aim);
    fd_s64 part = (fd_s64)fd_min((fd_u64)fd_collar_ratio((fd_s64)aim, params->target), FD_Q16);
    fd_s64 inner = 1966 * ((fd_s64)FD_Q16 - x - (x >> 2)) - 6554 * y;
    fd_s64 step = ((inner * part >> 16) * part) >> 16;
    fd_u64 loosest = fd_max(1, (fd_u64)params->share * FD_SLACK_MOST >> 16);
    fd_u64 whole = fd_min((1ull << 63) / (loosest * fd_collar_s(collar)), 1 << 22);
    fd_s64 most = (fd_s64)(collar->pressed ? whole : fd_min(whole, collar->widened)), widened;
    if (step < -(1ll << 31))
        step = -(1ll << 31);
    widened = (fd_s64)collar->widened + ((fd_s64)collar->widened * step >> 32);
    if (widened > most)
        widened = most;
    collar->widened = widened < (fd_s64)FD_Q16 ? FD_Q16 : (fd_u64)widened;
}

/* The kernel glue takes what is rare out of line: the verifier follows a function on its own once. */
#ifndef FD_COLLAR_UPDATE
#define FD_COLLAR_UPDATE(collar, params, limit, now) fd_collar_update(collar, params, limit, now)
#define FD_COLLAR_SAMPLE(host, collar, params, id, len, wait, now) fd_collar_sample(host, collar, params, id, len, wait, now)
#define FD_COLLAR_INIT(collar, params, now) fd_collar_init(collar, params, now)
#define FD_COLLAR_WIDEN(collar, params, aim, change) fd_collar_widen(collar, params, aim, change)
#endif

/* The waiting time to aim at, ns. */
FD_INLINE fd_u64 fd_collar_aim(const struct fd_collar *collar, const struct fd_collar_params *params, fd_u64 service,
                               fd_u32 limit)
{
    fd_u64 aim = params->target;
    if (service == 0)
        return aim;
    aim = fd_min(fd_max(aim, (service << 31) / fd_collar_s(collar)), limit * service >> 1);
    return fd_max(1, fd_min(aim, FD_NS_MOST));
}

/* The periods that have ended without a call. */
FD_INLINE void fd_collar_catch_up(struct fd_collar *collar, const struct fd_collar_params *params, fd_u64 aim, fd_u64 missed)
{
    fd_u64 left = missed;
    for (int i = 0; i < 16; i++) {
        if (left == 0 || collar->widened <= FD_Q16)
            break;
        FD_COLLAR_WIDEN(collar, params, aim, 0);
        left--;
    }
    if (left > 0 && collar->widened == FD_Q16)
        collar->root = (fd_u64)fd_clamp(
            (fd_s64)collar->root + fd_collar_steps(collar, params, aim, 0) * (fd_s64)fd_min(left, 65535), 0, 1ll << 39);
}

/* The controller, once its period has ended. */
FD_INLINE void fd_collar_update(struct fd_collar *collar, const struct fd_collar_params *params, fd_u32 limit, fd_u64 now)
{
    fd_u64 missed = (now - collar->next_update) / FD_PERIOD, service = fd_collar_service(collar), slack;
    fd_u64 aim = fd_collar_aim(collar, params, service, limit);
    fd_s64 change = (fd_s64)collar->delay - (fd_s64)collar->old_delay;
    collar->next_update += (missed + 1) * FD_PERIOD;
    if (collar->widened == FD_Q16)
        collar->root = (fd_u64)fd_clamp((fd_s64)collar->root + fd_collar_steps(collar, params, aim, change), 0, 1ll << 39);
    if (collar->root == 0)
        FD_COLLAR_WIDEN(collar, params, aim, change);
    collar->old_delay = collar->delay;
    collar->pressed = 0;
    fd_collar_catch_up(collar, params, aim, missed);
    if (now - collar->last_sample > FD_PERIOD) {
        collar->distance -= (fd_u64)collar->until;
        collar->until = 0;
    }
    slack = collar->root ? fd_min(FD_Q16 + 216172782113784ull / collar->root, FD_SLACK_MOST) : FD_SLACK_MOST;
    collar->phi = slack * collar->widened >> 16;
    collar->wide = collar->widened;
    collar->base = (collar->root >> 20) * (collar->root >> 20) >> 8;
    collar->spared = service ? aim / (8 * service) : 0;
    fd_collar_loosen(collar);
}

/* First thing in every call. */
FD_INLINE void fd_collar_updates(struct fd_collar *collar, const struct fd_collar_params *params, fd_u32 limit, fd_u64 now)
{
    if (collar->ids != params->ids || collar->sets != params->sets)
        FD_COLLAR_INIT(collar, params, now);
    if (now >= collar->next_update)
        FD_COLLAR_UPDATE(collar, params, limit, now);
}

/* 32 random bits; the square of a uniform number, where a packet of ECT(1) is marked with twice the root of the probability. */
FD_INLINE fd_u64 fd_collar_draw(struct fd_host *host, enum fd_stream stream, int squares)
{
    fd_u64 u = fd_random(host, stream);
    return squares ? u * u >> 34 : u;
}

/* Ids in a block. */
FD_INLINE fd_u32 fd_collar_filled(const struct fd_collar *collar, fd_u32 block)
{
    fd_u32 blocks = collar->ids / FD_BLOCK;
    if (collar->remembered >= collar->ids || blocks == 0)
        return FD_BLOCK;
    return collar->remembered / blocks + (block < collar->remembered % blocks);
}

/* The number of ids from `first` on that equal `id`; ids is 32 or 128. */
FD_INLINE fd_u32 fd_collar_equal(const struct fd_collar *collar, fd_u32 first, fd_u32 ids, fd_u32 id)
{
    fd_u32 equal = 0;
    for (fd_u32 i = 0; i < ids; i++)
        equal += (fd_u32)(((fd_u64)(collar->memory[first + i] ^ id) - 1) >> 63); /* one without a branch */
    return equal;
}

/* The first place of a flow's set. */
FD_INLINE fd_u32 fd_collar_set(const struct fd_collar *collar, fd_u32 id)
{
    return (fd_u32)((fd_u64)id * collar->sets >> 32) * FD_WAYS & (FD_MOST_SETS - 1) * FD_WAYS;
}

/* The place of a flow, or none. */
FD_INLINE fd_u64 *fd_collar_place(struct fd_collar *collar, fd_u32 id)
{
    fd_u64 *set = &collar->table[fd_collar_set(collar, id)];
    for (fd_u32 way = 0; way < FD_WAYS; way++) {
        if ((set[way] & FD_TAG) == (id & FD_TAG) && set[way] > FD_TAG)
            return &set[way];
    }
    return 0;
}

/* The probability with which a count above allowed loses a packet. */
FD_INLINE struct fd_part fd_collar_excess(const struct fd_collar *collar, fd_u64 count)
{
    fd_u32 shift = fd_excess_bits(collar->allowed, 16);
    fd_u64 a = collar->allowed >> shift, c = count >> shift, d = c > a ? c - a : 0;
    if (c << 16 < a * collar->knee)
        return (struct fd_part){ d * d >> 2, a * a * collar->knee2 >> 18 };
    shift = fd_excess_bits(count, 32);
    return (struct fd_part){ (count >> shift) - (collar->kept >> shift), count >> shift };
}

/* The base probability of an arrival of len bytes, Q32: the part that goes by the flow's share, and of all. */
FD_INLINE struct fd_part fd_collar_parts(const struct fd_collar *collar, fd_u32 len)
{
    fd_u64 p = collar->base * fd_min(len * collar->per_size >> 16, FD_Q16) >> 16;
    return (struct fd_part){ fd_min(p, collar->by_share), p };
}

FD_INLINE fd_u32 fd_collar_fate(enum fd_cause cause, int marks)
{
    return marks ? cause | FD_MARKED : (fd_u32)cause;
}

/* The base probability of a suspect; ect is 0 for packets that can't be marked. */
FD_INLINE fd_u32 fd_collar_base_of(struct fd_host *host, const struct fd_collar *collar, fd_u64 count, fd_u32 len, fd_u32 ect)
{
    struct fd_part parts = fd_collar_parts(collar, len);
    fd_u64 rest = parts.of - parts.below, limit, c, u;
    fd_u32 shift = fd_excess_bits(collar->limit, 16);
    int marks = ect && collar->base < 1ull << 30;
    if (parts.of == 0)
        return FD_KEPT;
    limit = collar->limit >> shift;
    c = fd_min(count, collar->allowed) >> shift;
    u = fd_collar_draw(host, FD_PIE_DRAW, marks && ect == 1);
    if (u < rest || (u - rest) * limit * limit < parts.below * c * c)
        return fd_collar_fate(FD_PIE, marks);
    return FD_KEPT;
}

/* An arrival of a suspect with this count, while n packets wait. */
FD_INLINE fd_u32 fd_collar_suspect(struct fd_host *host, struct fd_collar *collar, fd_u64 count, fd_u32 len, fd_u32 ect,
                                   fd_u32 n)
{
    fd_u32 fate;
    int hit = 0;
    if (count > collar->allowed) {
        collar->pressed = 1;
        if (n >= collar->spared) {
            struct fd_part part = fd_collar_excess(collar, count);
            int marks = ect && part.below << 16 < part.of * 5243;
            hit = fd_collar_draw(host, FD_FILTER_DRAW, marks && ect == 1) * part.of >> 32 < part.below;
            if (hit && !marks)
                return FD_FILTER;
        }
    }
    fate = fd_collar_base_of(host, collar, count, len, ect);
    return fate == FD_KEPT && hit ? FD_FILTER | FD_MARKED : fate;
}

/* An arrival of a flow that is no suspect, while there is a base probability. */
FD_INLINE fd_u32 fd_collar_other(struct fd_host *host, const struct fd_collar *collar, fd_u32 id, fd_u32 len, fd_u32 ect)
{
    fd_u32 block = (fd_u32)((fd_u64)fd_random(host, FD_CANDIDATE) * (collar->ids / FD_BLOCK) >> 32);
    fd_u32 k = fd_collar_equal(collar, block * FD_BLOCK & (FD_MOST_IDS - FD_BLOCK), FD_BLOCK, id);
    struct fd_part parts = fd_collar_parts(collar, len);
    fd_u64 rest = parts.of - parts.below;
    int marks = ect && collar->base < 1ull << 30;
    if (parts.below * k > 0 && (fd_collar_draw(host, FD_FILTER_DRAW, marks && ect == 1) * fd_collar_s(collar) >> 31) *
                                       fd_collar_filled(collar, block) < parts.below * k)
        return fd_collar_fate(FD_MEMORY, marks);
    if (rest > 0 && fd_collar_draw(host, FD_PIE_DRAW, marks && ect == 1) < rest)
        return fd_collar_fate(FD_PIE, marks);
    return FD_KEPT;
}

/* What becomes of an arrival of len bytes, while n packets wait; ect is the ECN field if the packet may be marked, or 0. */
FD_INLINE fd_u32 fd_collar_arrival(struct fd_host *host, struct fd_collar *collar, const struct fd_collar_params *params,
                                   fd_u32 n, fd_u32 limit, fd_u32 id, fd_u32 len, fd_u32 ect, fd_u64 now)
{
    fd_u64 *place, count = 0;
    fd_u32 fate = FD_KEPT;
    fd_collar_updates(collar, params, limit, now);
    len = (fd_u32)fd_min(len, 65535);
    ect = params->ecn ? ect : 0;
    place = fd_collar_place(collar, id);
    if (place) {
        count = fd_min((*place >> 24) + fd_collar_count(collar, len), FD_COUNT_MOST);
        *place = count << 24 | (id & FD_TAG);
    }
    if (n >= 2 && place)
        fate = fd_collar_suspect(host, collar, count, len, ect, n);
    else if (n >= 2 && collar->base)
        fate = fd_collar_other(host, collar, id, len, ect);
    if ((fate == FD_KEPT || fate & FD_MARKED) && n >= limit)
        return FD_OVERFLOW;
    return fate;
}

/* A fraction of the ids, Q47, after k of c were equal. */
FD_INLINE fd_u64 fd_collar_moved(fd_u64 average, fd_u32 k, fd_u32 c, fd_u32 matches)
{
    fd_s64 s = (fd_s64)(average >> 16);
    fd_s64 error = ((fd_s64)k << 28) - ((fd_s64)c * s >> 3);
    fd_s64 change = error >> (fd_bits(16 + matches) - 1);
    if (change < -(1ll << 27))
        change = -(1ll << 27);
    return (fd_u64)fd_clamp((fd_s64)average + (s * change >> 12), 1ll << 33, 1ll << 47);
}

/* Counts lose weight with bytes that leave: all are halved at each doubling of a byte's. */
FD_INLINE void fd_collar_fade(struct fd_collar *collar, fd_u64 room, fd_u64 turn)
{
    fd_u64 packets = fd_min(room * collar->per_size >> 16, FD_NS_MOST);
    collar->weight += collar->weight * fd_min(packets * fd_collar_s(collar) >> 21, turn) >> 31;
    if (collar->weight >= 1ull << 32) {
        collar->weight >>= 1;
        collar->sent >>= 1;
        fd_repeat(i, collar->sets * FD_WAYS) {
            fd_u64 *place = &collar->table[i & (FD_MOST_SETS * FD_WAYS - 1)];
            *place = (*place >> 25) << 24 | (*place & FD_TAG);
        }
    }
    collar->sent = fd_max(16, fd_min(collar->sent + fd_collar_count(collar, room), FD_SENT_MOST));
}

/* A flow that was met in the memory becomes a suspect, where a place of its set has a smaller count. */
FD_INLINE void fd_collar_enter(struct fd_collar *collar, fd_u32 id)
{
    fd_u64 *set = &collar->table[fd_collar_set(collar, id)], assumed = fd_max(1, fd_collar_fair(collar) >> 1);
    fd_u32 least = 0;
    if (fd_collar_place(collar, id))
        return;
    for (fd_u32 way = 1; way < FD_WAYS; way++) {
        if (set[way] >> 24 < set[least & (FD_WAYS - 1)] >> 24)
            least = way;
    }
    if (set[least & (FD_WAYS - 1)] >> 24 < assumed)
        set[least & (FD_WAYS - 1)] = fd_min(assumed, FD_COUNT_MOST) << 24 | (id & FD_TAG);
}

FD_INLINE void fd_collar_remember(struct fd_collar *collar, fd_u32 id)
{
    fd_u32 blocks = collar->ids / FD_BLOCK;
    if (blocks == 0)
        return;
    collar->memory[(collar->remembered % blocks * FD_BLOCK + collar->remembered / blocks % FD_BLOCK) & (FD_MOST_IDS - 1)] = id;
    if (++collar->remembered == 2 * collar->ids)
        collar->remembered = collar->ids;
}

/* The mean bytes to the next sample. */
FD_INLINE fd_u64 fd_collar_stride(struct fd_collar *collar, fd_u64 bytes, fd_u64 turn)
{
    fd_u64 mean;
    collar->passed16 = fd_mean16(collar->passed16, bytes);
    collar->turns16 = fd_mean16(collar->turns16, turn * collar->ids >> 15);
    mean = collar->turns16 ? (collar->passed16 << 16) / collar->turns16 : 0;
    return fd_min(fd_max(mean, collar->size16 >> 3), 1 << 30);
}

/* Learns from a departing packet. */
FD_INLINE void fd_collar_sample(struct fd_host *host, struct fd_collar *collar, const struct fd_collar_params *params,
                                fd_u32 id, fd_u32 len, fd_u64 wait, fd_u64 now)
{
    fd_u64 bits = fd_random_64(host, FD_CANDIDATE);
    fd_u32 block = 4 * (fd_u32)((bits >> 32) * (collar->ids / 128) >> 32);
    fd_u32 k = fd_collar_equal(collar, block * FD_BLOCK & (FD_MOST_IDS - 128), 128, id), c = 0;
    fd_u64 gap = fd_min(now - collar->last_sample, FD_COUNT_MOST), bytes = collar->distance - (fd_u64)collar->until;
    fd_u64 reach = fd_min(gap, params->span), turn = reach * ((1ull << 63) / params->span) >> 32, room = bytes;
    for (fd_u32 i = 0; i < 4; i++)
        c += fd_collar_filled(collar, block + i);
    collar->size16 = fd_first16(collar->size16, len);
    if (collar->busy && bytes)
        collar->pace16 = fd_first16(collar->pace16, fd_min((gap << 16) / bytes, (1ull << 36) - 1));
    if (!collar->busy && collar->pace16 >> 4)
        room = fd_max(bytes, (reach << 16) / (collar->pace16 >> 4));
    room = fd_min(room, (1ull << 31) - 1);
    collar->busy = 1;
    collar->last_sample = now;
    collar->delay = fd_min(wait, FD_NS_MOST);
    collar->per_size = (1ull << 36) / fd_max(collar->size16, 16);
    fd_collar_fade(collar, room, turn);
    collar->matches = (fd_u32)fd_min(collar->matches + k, 2032);
    collar->quick = fd_collar_moved(collar->quick, k, c, (fd_u32)fd_min(collar->matches, 496));
    collar->steady = fd_collar_moved(collar->steady, k, c, collar->matches);
    collar->distance = (bits & 0xffffffff) * fd_collar_stride(collar, bytes, turn) >> 31;
    collar->until = (fd_s64)collar->distance;
    if (k)
        fd_collar_enter(collar, id);
    fd_collar_remember(collar, id);
    fd_collar_shares(collar, params);
}

/* A packet has left after a time of waiting, with n behind it. */
FD_INLINE void fd_collar_departure(struct fd_host *host, struct fd_collar *collar, const struct fd_collar_params *params,
                                   fd_u32 n, fd_u32 limit, fd_u32 id, fd_u32 len, fd_u64 wait, fd_u64 now)
{
    fd_collar_updates(collar, params, limit, now);
    len = (fd_u32)fd_min(len, 65535);
    collar->until -= len;
    if (collar->until <= 0)
        FD_COLLAR_SAMPLE(host, collar, params, id, len, wait, now);
    if (n == 0)
        collar->delay = collar->busy = 0;
}

#endif
