/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Plays a conformance vector to the cores: reads it as text from standard input and answers on standard output, as
 * conformance/README.md says ("The stream", "As text"). The vector's random numbers replace the kernel's.
 *
 * Build: make bpf-native
 * Run:   fairdrop conformance check --discipline red,choke,chokew,ward,collar_integer --format text --tolerance 1e-6 -- build/bpf/play
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../choke/choke.h"
#include "../chokew/chokew.h"
#include "../collar/collar.h"
#include "../red/red.h"
#include "../ward/ward.h"

enum { LONGEST_LINE = 100001, STREAMS = 16, MOST_NUMBERS = 4096, MOST_SLOTS = 1 << 18 };

enum discipline { RED, CHOKE, CHOKEW, WARD, COLLAR };

/* A packet that waits beside its slot. */
struct handle {
    uint64_t id;
    uint64_t arrived;
};

struct fd_host {
    struct fd_slot slots[MOST_SLOTS];
    struct handle handles[MOST_SLOTS];
    fd_u32 slot_count;
    uint64_t bits[MOST_NUMBERS];
    unsigned stream[MOST_NUMBERS];
    bool taken[MOST_NUMBERS];
    size_t numbers;
    unsigned used[STREAMS];
};

/* A queue: its parameters and its state. */
struct queue {
    enum discipline discipline;
    fd_u32 limit;
    struct fd_ring ring;
    struct fd_choke_params choke_params; /* of RED as well */
    struct fd_chokew_params chokew_params;
    struct fd_ward_params ward_params;
    struct fd_collar_params collar_params;
    struct fd_choke choke;
    struct fd_chokew chokew;
    struct fd_collar collar;
};

static const char *const CAUSES[FD_CAUSES] = {
    [FD_RED_EARLY] = "red_early",       [FD_RED_FORCED] = "red_forced",
    [FD_MATCH_ARRIVING] = "match_arriving", [FD_MATCH_QUEUED] = "match_queued",
    [FD_WARD_PAIR_QUEUED] = "ward_pair_queued", [FD_OVERFLOW] = "overflow",
    [FD_FILTER] = "filter",             [FD_MEMORY] = "memory",
    [FD_PIE] = "pie",
};

static struct fd_host host;
static struct queue queue;
static bool answered;
static char line[LONGEST_LINE];

static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("play: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

/* Declines the vector. */
static void decline(const char *what, const char *value)
{
    printf("X no %s %s\n", what, value);
    exit(0);
}

/* One group of an answer. */
static void answer(const char *format, ...)
{
    va_list arguments;
    if (answered)
        putchar(' ');
    answered = true;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
}

static uint64_t next_bits(struct fd_host *from, enum fd_stream stream)
{
    for (size_t i = 0; i < from->numbers; i++) {
        if (from->stream[i] == stream && !from->taken[i]) {
            from->taken[i] = true;
            from->used[stream]++;
            return from->bits[i];
        }
    }
    fail("the vector has no further number of stream %u", (unsigned)stream);
    return 0;
}

static fd_u32 fd_random(struct fd_host *from, enum fd_stream stream)
{
    return (fd_u32)(next_bits(from, stream) >> 32);
}

static fd_u64 fd_random_64(struct fd_host *from, enum fd_stream stream)
{
    return next_bits(from, stream);
}

/* D. Lemire, ACM TOMACS 29(1), 2019, algorithm 5, with 64 bits. */
static fd_u64 fd_below(struct fd_host *from, enum fd_stream stream, fd_u64 n)
{
    unsigned __int128 wide;
    do
        wide = (unsigned __int128)next_bits(from, stream) * n;
    while ((uint64_t)wide < -n % n);
    return (fd_u64)(wide >> 64);
}

static struct fd_slot *fd_slot_at(struct fd_host *from, fd_u32 index)
{
    return index < from->slot_count ? &from->slots[index] : NULL;
}

static void fd_move_packet(struct fd_host *from, fd_u32 to, fd_u32 old)
{
    from->handles[to] = from->handles[old];
}

static void fd_drop_waiting(struct fd_host *from, fd_u32 index, fd_u32 len, enum fd_cause cause)
{
    (void)len;
    answer("D %" PRIu64 " %s", from->handles[index].id, CAUSES[cause]);
}

static void fd_compared(struct fd_host *from, fd_u32 index)
{
    answer("C %" PRIu64, from->handles[index].id);
}

static void fd_stuck(struct fd_host *from)
{
    (void)from;
    fail("a draw found nothing");
}

/* The next word of the line. */
static const char *word(void)
{
    const char *found = strtok(NULL, " \n");
    if (found == NULL)
        fail("a line ends early");
    return found;
}

static uint64_t whole(void)
{
    return strtoull(word(), NULL, 10);
}

static bool read_line(void)
{
    return fgets(line, sizeof line, stdin) != NULL;
}

/* The nearest number in fixed point; what has none is declined. */
static fd_u64 scaled(const char *name, const char *text, double one)
{
    double value = strtod(text, NULL) * one + 0.5;
    if (!(value >= 0 && value < 0x1p63))
        decline(name, text);
    return (fd_u64)value;
}

static void set_switch(struct fd_red_params *red, const char *name, bool is_on)
{
    static const struct { const char *name; unsigned bit; } SWITCHES[] = {
        { "gentle", FD_GENTLE }, { "wait", FD_WAIT }, { "independent", FD_INDEPENDENT },
        { "byte_mode", FD_BYTE_MODE }, { "ecn", FD_ECN },
    };
    if (!is_on)
        return;
    for (size_t i = 0; i < sizeof SWITCHES / sizeof *SWITCHES; i++) {
        if (strcmp(name, SWITCHES[i].name) == 0) {
            red->switches |= SWITCHES[i].bit;
            return;
        }
    }
    decline(name, "");
}

static void set_red(struct fd_red_params *red, const char *name, const char *kind, const char *value)
{
    if (strcmp(kind, "switch") == 0)
        set_switch(red, name, *value == '1');
    else if (strcmp(name, "min_th") == 0)
        red->min_th = scaled(name, value, 0x1p32);
    else if (strcmp(name, "max_th") == 0)
        red->max_th = scaled(name, value, 0x1p32);
    else if (strcmp(name, "max_p") == 0)
        red->max_p = scaled(name, value, 0x1p32);
    else if (strcmp(name, "w_q") == 0)
        red->w_q = scaled(name, value, 0x1p32);
    else if (strcmp(name, "mean_packet_size") == 0)
        red->mean_packet_size = (fd_u32)strtoul(value, NULL, 10);
    else if (strcmp(name, "linux") != 0 || strcmp(value, "none") != 0)
        decline(name, value);
}

/* Candidates by region: as many as given, or step i + offset for region i from 1. */
static void set_schedule(struct fd_choke_params *choke, unsigned regions, int step, int offset)
{
    if (regions > FD_MOST_REGIONS)
        decline("regions", "that many");
    choke->regions = regions;
    for (unsigned i = 0; i < regions; i++)
        choke->candidates[i] = (fd_u8)(step * (int)(i + 1) + offset);
}

static void set_choke(struct fd_choke_params *choke, const char *name, const char *value)
{
    static int step, offset;
    if (strcmp(name, "candidates") == 0) {
        set_schedule(choke, 1, 0, atoi(value));
    } else if (strcmp(name, "schedule") == 0) {
        step = strcmp(value, "odd") == 0 || strcmp(value, "even") == 0 ? 2 : 0;
        offset = strcmp(value, "odd") == 0 ? -1 : 0;
        if (strcmp(value, "two") == 0)
            set_schedule(choke, 2, 1, 0);
        else if (step)
            set_schedule(choke, 3, step, offset);
    } else if (strcmp(name, "regions") == 0) {
        if (step)
            set_schedule(choke, (unsigned)atoi(value), step, offset);
    } else if (strcmp(name, "draw") == 0) {
        choke->from_head = strcmp(value, "head") == 0;
        if (!choke->from_head && strcmp(value, "uniform") != 0)
            decline(name, value);
    } else if (strcmp(name, "replacement") == 0) {
        choke->replacement = *value == '1';
    } else if (strcmp(name, "count_on_match") == 0) {
        choke->count_on_match = *value == '1';
    } else if (strcmp(name, "sampling") == 0) {
        choke->cell = strcmp(value, "packet") == 0 ? 0 : 1;
        choke->cell += strcmp(value, "cell") == 0;
    } else if (strcmp(name, "cell_size") == 0) {
        choke->cell = choke->cell == 2 ? (fd_u32)atoi(value) : choke->cell;
    } else if (strcmp(value, "packets") != 0 && strcmp(value, "match_first") != 0) {
        decline(name, value);
    }
}

static void set_chokew(struct fd_chokew_params *chokew, const char *name, const char *value)
{
    const struct { const char *name; fd_q32 *place; } NUMBERS[] = {
        { "l_th", &chokew->l_th },     { "l_minus", &chokew->l_minus }, { "l_plus", &chokew->l_plus },
        { "p_plus", &chokew->p_plus }, { "p_minus", &chokew->p_minus },
    };
    for (size_t i = 0; i < sizeof NUMBERS / sizeof *NUMBERS; i++) {
        if (strcmp(name, NUMBERS[i].name) == 0) {
            *NUMBERS[i].place = scaled(name, value, 0x1p32);
            return;
        }
    }
    if (strcmp(name, "max_draws") == 0)
        chokew->max_draws = (fd_u32)strtoul(value, NULL, 10);
    else if (strcmp(name, "with_red") == 0)
        chokew->with_red = *value == '1';
    else if (strcmp(name, "uncapped") != 0 || *value == '1')
        decline(name, value);
}

static void set_collar(struct fd_collar_params *collar, const char *name, const char *value)
{
    if (strcmp(name, "target") == 0)
        collar->target = (fd_u32)scaled(name, value, 1e9);
    else if (strcmp(name, "span") == 0)
        collar->span = (fd_u32)scaled(name, value, 1e9);
    else if (strcmp(name, "share") == 0)
        collar->share = (fd_u32)(strtod(value, NULL) * FD_Q16);
    else if (strcmp(name, "ids") == 0)
        collar->ids = (fd_u32)atoi(value);
    else if (strcmp(name, "sets") == 0)
        collar->sets = (fd_u32)atoi(value);
    else if (strcmp(name, "ecn") == 0)
        collar->ecn = *value == '1';
    else
        decline(name, value);
}

/* A list: weights of CHOKeW, or candidates of CHOKe by region. */
static void set_list(struct queue *to, const char *name)
{
    unsigned count = (unsigned)whole();
    fd_u64 lowest = FD_MOST_WEIGHT;
    if (count > FD_MOST_REGIONS)
        decline(name, "of that length");
    if (strcmp(name, "weights") != 0)
        to->choke_params.regions = count;
    for (unsigned i = 0; i < count; i++) {
        const char *value = word();
        fd_u64 weight = scaled(name, value, (double)FD_WEIGHT_ONE);
        if (strcmp(name, "weights") != 0) {
            to->choke_params.candidates[i] = (fd_u8)atoi(value);
            continue;
        }
        to->chokew_params.weights[i] = weight;
        lowest = weight < lowest ? weight : lowest;
    }
    for (unsigned i = count; i < FD_CLASSES && strcmp(name, "weights") == 0; i++)
        to->chokew_params.weights[i] = lowest;
}

/* `P owner name kind value`: one parameter. */
static void read_parameter(struct queue *to)
{
    const char *owner = word(), *name = word(), *kind = word();
    if (strcmp(kind, "list") == 0) {
        set_list(to, name);
        return;
    }
    const char *value = word();
    if (strcmp(owner, "red") == 0) {
        set_red(&to->choke_params.red, name, kind, value);
        set_red(&to->chokew_params.red, name, kind, value);
    } else if (strcmp(owner, "choke") == 0) {
        set_choke(&to->choke_params, name, value);
    } else if (strcmp(owner, "chokew") == 0) {
        set_chokew(&to->chokew_params, name, value);
    } else if (strcmp(owner, "collar") == 0) {
        set_collar(&to->collar_params, name, value);
    } else {
        to->ward_params.full_case3_drops = strcmp(value, "drop") == 0;
    }
}

static void read_discipline(struct queue *to)
{
    static const char *const NAMES[] = { "red", "choke", "chokew", "ward", "collar_integer" };
    const char *name = word();
    for (unsigned i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (strcmp(name, NAMES[i]) == 0) {
            to->discipline = (enum discipline)i;
            return;
        }
    }
    decline("discipline", name);
}

static bool is_valid(const struct queue *of)
{
    switch (of->discipline) {
    case RED:
        return fd_red_valid(&of->choke_params.red);
    case CHOKE:
        return fd_choke_valid(&of->choke_params);
    case CHOKEW:
        return fd_chokew_valid(&of->chokew_params);
    case COLLAR:
        return fd_collar_valid(&of->collar_params);
    default:
        return fd_ward_valid(&of->ward_params);
    }
}

static void begin(struct queue *new, uint64_t rate)
{
    fd_u64 packet_time = new->choke_params.red.mean_packet_size * UINT64_C(8000000000) / (rate ? rate : 1);
    fd_u32 slots = 8;
    while (slots < 2 * new->limit + 8)
        slots *= 2;
    if (slots > MOST_SLOTS)
        decline("limit", "that high");
    host.slot_count = slots;
    new->ring.mask = slots - 1;
    new->choke_params.red.mean_packet_time = packet_time ? packet_time : 1;
    new->chokew_params.red.mean_packet_time = new->choke_params.red.mean_packet_time;
    fd_red_init(&new->choke.red, 0);
    fd_red_init(&new->chokew.red, 0);
    fd_collar_init(&new->collar, &new->collar_params, 0);
    if (!is_valid(new))
        decline("parameters", "like these");
}

/* Reads the header. */
static bool open_queue(struct queue *new)
{
    uint64_t rate = 0;
    while (read_line()) {
        const char *kind = strtok(line, " \n");
        if (kind == NULL)
            continue;
        if (strcmp(kind, "V") == 0 && whole() != 2)
            fail("another version of the format");
        else if (strcmp(kind, "D") == 0)
            read_discipline(new);
        else if (strcmp(kind, "P") == 0)
            read_parameter(new);
        else if (strcmp(kind, "L") == 0)
            new->limit = (fd_u32)whole(), rate = whole();
        else if (strcmp(kind, "B") == 0)
            decline("bursts", "in modes");
        else if (strcmp(kind, "E") == 0)
            return begin(new, rate), true;
    }
    return false;
}

/* The tail of an event: picks, which the ring does without, and random numbers. */
static void read_numbers(void)
{
    for (uint64_t picks = whole(); picks > 0; picks--)
        word();
    host.numbers = (size_t)whole();
    if (host.numbers > MOST_NUMBERS)
        fail("an event has %zu random numbers", host.numbers);
    memset(host.used, 0, sizeof host.used);
    for (size_t i = 0; i < host.numbers; i++) {
        host.stream[i] = (unsigned)whole();
        host.bits[i] = strtoull(word(), NULL, 16);
        host.taken[i] = false;
    }
}

static fd_u32 arrive(struct queue *at, fd_u32 flow, fd_u32 class, fd_u32 len, unsigned ecn, uint64_t now)
{
    struct fd_ring *ring = &at->ring;
    bool can_mark = ecn != 0;
    switch (at->discipline) {
    case RED:
        return fd_red_arrival(&host, &at->choke.red, &at->choke_params.red, ring, at->limit, len, can_mark, now);
    case CHOKE:
        return fd_choke_arrival(&host, &at->choke, &at->choke_params, ring, at->limit, flow, len, can_mark, now);
    case CHOKEW:
        return fd_chokew_arrival(&host, &at->chokew, &at->chokew_params, ring, at->limit, flow, class, len, can_mark,
                                 now);
    case COLLAR:
        return fd_collar_arrival(&host, &at->collar, &at->collar_params, ring->packets, at->limit, flow, len, ecn, now);
    default:
        return fd_ward_arrival(&host, &at->ward_params, ring, at->limit, flow);
    }
}

static uint64_t left(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static void half_round(uint64_t v[4], unsigned a, unsigned b, unsigned c, unsigned d, unsigned first, unsigned second)
{
    v[a] += v[b];
    v[b] = left(v[b], first) ^ v[a];
    v[c] += v[d];
    v[d] = left(v[d], second) ^ v[c];
}

static void rounds(uint64_t v[4], unsigned count)
{
    while (count-- > 0) {
        half_round(v, 0, 1, 2, 3, 13, 16);
        v[0] = left(v[0], 32);
        half_round(v, 2, 1, 0, 3, 17, 21);
        v[2] = left(v[2], 32);
    }
}

/* SipHash-2-4 of one byte under a key of zeros: J.-P. Aumasson, D. J. Bernstein, 2012. */
static uint64_t siphash(uint64_t byte)
{
    uint64_t v[] = { UINT64_C(0x736f6d6570736575), UINT64_C(0x646f72616e646f6d), UINT64_C(0x6c7967656e657261),
                     UINT64_C(0x7465646279746573) };
    uint64_t message = byte | UINT64_C(1) << 56;
    v[3] ^= message;
    rounds(v, 2);
    v[0] ^= message;
    v[2] ^= 0xff;
    rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* COLLAR's id of a flow under a key of zeros: docs/reference/disciplines/collar.md. */
static fd_u32 collar_id(uint64_t flow)
{
    unsigned __int128 wide = (unsigned __int128)(flow ^ siphash(0)) * (siphash(1) | 1);
    fd_u32 id = (fd_u32)(((uint64_t)(wide >> 64) ^ (uint64_t)wide) * (siphash(2) | 1) >> 32);
    return id ? id : 1;
}

/* Same flows have the same number of 32 bits. */
static fd_u32 short_flow(const struct queue *at, uint64_t flow)
{
    if (at->discipline == COLLAR)
        return collar_id(flow);

    if (flow > UINT32_MAX)
        decline("flow numbers", "beyond 32 bits");
    return (fd_u32)flow;
}

static void enqueue(struct queue *at)
{
    uint64_t now = whole(), id = whole();
    fd_u32 flow = short_flow(at, whole()), len = (fd_u32)whole(), class = (fd_u32)whole();
    unsigned ecn = (unsigned)whole();
    word();
    read_numbers();
    fd_u32 fate = arrive(at, flow, class < FD_CLASSES ? class : FD_CLASSES - 1, len, ecn, now);
    if (fate != FD_KEPT && !(fate & FD_MARKED)) {
        answer("D %" PRIu64 " %s", id, CAUSES[fate]);
        return;
    }
    if (fate & FD_MARKED)
        answer("M %" PRIu64 " %s", id, CAUSES[fate & ~FD_MARKED]);
    fd_u32 index = fd_append(&host, &at->ring, flow, len);
    if (index == FD_NO_PLACE)
        fail("the ring has no room for packet %" PRIu64, id);
    host.handles[index] = (struct handle){ .id = id, .arrived = now };
}

static void dequeue(struct queue *at)
{
    uint64_t now = whole();
    fd_u32 index, len;
    read_numbers();
    if (fd_pop(&host, &at->ring, &index, &len)) {
        answer("S %" PRIu64, host.handles[index].id);
        if (at->discipline == COLLAR)
            fd_collar_departure(&host, &at->collar, &at->collar_params, at->ring.packets, at->limit,
                                host.slots[index].flow, len, now - host.handles[index].arrived, now);
        return;
    }
    fd_red_idle(&at->choke.red, now);
    fd_red_idle(&at->chokew.red, now);
}

static void report(const struct queue *of)
{
    bool is_chokew = of->discipline == CHOKEW;
    const struct fd_red *red = is_chokew ? &of->chokew.red : &of->choke.red;
    answer("B %" PRIu32 " %" PRIu64, of->ring.packets, (uint64_t)of->ring.bytes);
    for (unsigned stream = 0; stream < STREAMS; stream++)
        answer("U %u %u", stream, host.used[stream]);
    if (of->discipline == COLLAR) {
        answer("I root %.17g", (double)of->collar.root / 0x1p40);
        answer("I s %.17g", (double)fd_collar_s(&of->collar) / 0x1p31);
        answer("I widened %.17g", (double)of->collar.widened / FD_Q16);
        return;
    }
    if (is_chokew)
        answer("I p0 %.17g", (double)of->chokew.drawing_factor / 0x1p32);
    if (of->discipline != WARD && (!is_chokew || of->chokew_params.with_red))
        answer("I avg %.17g", (double)red->avg / 0x1p32);
}

int main(void)
{
    if (!open_queue(&queue))
        fail("no header");
    while (read_line()) {
        const char *kind = strtok(line, " \n");
        if (kind == NULL)
            continue;
        answered = false;
        if (*kind == '+')
            enqueue(&queue);
        else if (*kind == '-')
            dequeue(&queue);
        else
            fail("an event of kind %s", kind);
        report(&queue);
        putchar('\n');
    }
    return 0;
}
