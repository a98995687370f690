/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Random packets, parameters and random numbers to COLLAR's core and to the library's `collar_integer`: every decision, its cause and the
 * controller's state have to be equal.
 *
 * Build: cc native/random_collar.c -I ../crates/fairdrop-ffi/include ../target/c/libfairdrop_ffi.a -lm
 * Run:   random_collar PACKETS SEED
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fairdrop.h>

#include "../collar/collar.h"

enum { STREAMS = FAIRDROP_STREAM_COUNT_DOWN + 1, EPISODE = 10000, MOST_LIMIT = 200, MOST_NUMBERS = 64 };

/* Numbers that the library has drawn in an event, by stream. */
struct fd_host {
    uint64_t bits[STREAMS][MOST_NUMBERS];
    unsigned drawn[STREAMS], taken[STREAMS];
};

static struct fd_host host;
static char setting[200];
static uint64_t packets;

static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("packet %" PRIu64 " of %s: ", packets, setting);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
    exit(1);
}

/* J. Steele, D. Lea, C. Flood, OOPSLA 2014, figure 16, with D. Stafford's constants. */
static uint64_t next(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t of_load, of_library;

static uint64_t below(uint64_t n)
{
    return (uint64_t)((unsigned __int128)next(&of_load) * n >> 64);
}

static uint64_t library_bits(void *context, fairdrop_stream stream)
{
    (void)context;
    if (host.drawn[stream] == MOST_NUMBERS)
        fail("an event draws too often");
    return host.bits[stream][host.drawn[stream]++] = next(&of_library);
}

static fd_u64 fd_random_64(struct fd_host *from, enum fd_stream stream)
{
    if (from->taken[stream] == from->drawn[stream])
        fail("the core draws from stream %u once more", (unsigned)stream);
    return from->bits[stream][from->taken[stream]++];
}

static fd_u32 fd_random(struct fd_host *from, enum fd_stream stream)
{
    return (fd_u32)(fd_random_64(from, stream) >> 32);
}

static int library_cause;

static void library_drop(void *context, const fairdrop_packet *packet, fairdrop_cause cause)
{
    (void)context, (void)packet;
    library_cause = cause;
}

/* The library's cause for a fate of the core; -1 for none. */
static int cause_of(fd_u32 fate)
{
    switch (fate & ~(fd_u32)FD_MARKED) {
    case FD_OVERFLOW:
        return FAIRDROP_CAUSE_OVERFLOW;
    case FD_FILTER:
        return FAIRDROP_CAUSE_FILTER;
    case FD_MEMORY:
        return FAIRDROP_CAUSE_MEMORY;
    case FD_PIE:
        return FAIRDROP_CAUSE_PIE;
    default:
        return -1;
    }
}

/* COLLAR's id of a flow under a key of zeros: the constants are SipHash-2-4 of the bytes 0, 1 and 2, the last two made odd. */
static fd_u32 id_of(uint64_t flow)
{
    unsigned __int128 wide = (unsigned __int128)(flow ^ 0x8b5a0baa49fbc58du) * 0x667dd5401e6fd801u;
    fd_u32 id = (fd_u32)(((uint64_t)(wide >> 64) ^ (uint64_t)wide) * 0x39ac0ea289bcb317u >> 32);
    return id ? id : 1;
}

static fairdrop_params library_params;
static struct fd_collar_params params;
static fd_u32 limit;
static struct fd_collar core;
static fairdrop_queue *queue;

static void set(const char *name, const char *format, double value)
{
    fairdrop_error error;
    char text[40];
    snprintf(text, sizeof text, format, value);
    if (fairdrop_params_set(&library_params, name, text, &error) < 0)
        fail("%s", error.message);
    size_t used = strlen(setting);
    snprintf(setting + used, sizeof setting - used, " %s=%s", name, text);
}

static void choose(void)
{
    static const fd_u32 LIMITS[] = { 3, 20, 60, MOST_LIMIT }, TARGETS_US[] = { 500, 2000, 15000 }, SPANS_MS[] = { 5, 20, 200 },
                        SHARES[] = { 58982, 32768, 65536 };
    fairdrop_error error;
    setting[0] = 0;
    if (fairdrop_params_init(&library_params, "collar_integer", 8000000, &error) < 0)
        fail("%s", error.message);
    limit = LIMITS[below(4)];
    params = (struct fd_collar_params){ .target = TARGETS_US[below(3)] * 1000, .span = SPANS_MS[below(3)] * 1000000,
                                        .share = SHARES[below(3)], .ids = 128u << below(6), .sets = 1 + (fd_u32)below(FD_MOST_SETS),
                                        .ecn = below(5) < 3 };
    set("limit", "%.0fp", limit);
    set("target", "%.0fns", params.target);
    set("span", "%.0fns", params.span);
    set("ids", "%.0f", params.ids);
    set("sets", "%.0f", params.sets);
    set("share", "%.17g", params.share / 65536.0);
    if (fairdrop_params_set(&library_params, "ecn", params.ecn ? "true" : "false", &error) < 0)
        fail("%s", error.message);
    fd_collar_init(&core, &params, 0);
    if (!fd_collar_valid(&params))
        fail("the core refuses it");
}

static void begin_library(void)
{
    static const uint64_t KEY[2];
    static const fairdrop_host LENT = { .dropped = library_drop, .flow_key = KEY, .random = library_bits };
    static void *memory;
    fairdrop_error error;
    size_t size = fairdrop_size(&library_params, &error);
    free(memory);
    memory = size ? aligned_alloc(64, (size + 63) / 64 * 64) : NULL;
    queue = memory ? fairdrop_init(memory, size, &library_params, &LENT, &error) : NULL;
    if (!queue)
        fail("%s", error.message);
}

static void compare_number(void *context, const char *name, double value)
{
    (void)context;
    double own = strcmp(name, "root") == 0 ? (double)core.root / 0x1p40
                 : strcmp(name, "s") == 0  ? (double)fd_collar_s(&core) / 0x1p31
                 : strcmp(name, "widened") == 0 ? (double)core.widened / FD_Q16
                                                : value;
    if (own != value)
        fail("%s is %.17g in the core, %.17g in the library", name, own, value);
}

static void finish_event(void)
{
    if (memcmp(host.drawn, host.taken, sizeof host.drawn) != 0)
        fail("the core draws less than the library");
    memset(host.drawn, 0, sizeof host.drawn);
    memset(host.taken, 0, sizeof host.taken);
    fairdrop_internals(queue, compare_number, NULL);
}

static struct {
    uint64_t drops[FD_CAUSES], marks, departures;
} total;

static bool arrive(uint64_t flow, fd_u32 waiting, uint64_t now)
{
    fairdrop_packet packet = { .flow = flow, .len = 40 + (uint32_t)below(1461), .ecn = (uint8_t)below(4) };
    fd_u32 ecn = packet.ecn;
    fairdrop_counters before, after;
    library_cause = -1;
    fairdrop_stats(queue, &before);
    if (fairdrop_enqueue(queue, &packet, now) < 0)
        fail("the library refuses a packet");
    fairdrop_stats(queue, &after);
    fd_u32 fate = fd_collar_arrival(&host, &core, &params, waiting, limit, id_of(flow), packet.len, ecn, now);
    bool marks = fate & FD_MARKED;
    if ((marks ? -1 : cause_of(fate)) != library_cause)
        fail("the core drops by %d, the library by %d", cause_of(fate), library_cause);
    if (marks != (after.marked.packets != before.marked.packets))
        fail("a mark");
    total.marks += marks;
    total.drops[marks ? FD_KEPT : fate]++;
    finish_event();
    return marks || fate == FD_KEPT;
}

static void depart(fd_u32 left, uint64_t now)
{
    fairdrop_packet packet;
    if (fairdrop_dequeue(queue, now, &packet) != FAIRDROP_STATUS_OK)
        fail("a departure");
    fd_collar_departure(&host, &core, &params, left, limit, id_of(packet.flow), packet.len, now - packet.enqueued_ns, now);
    total.departures++;
    finish_event();
}

/* Arrivals and departures in phases of 0.5 to 3 times the rate of the link, and silence. */
static void episode(void)
{
    static const uint64_t FLOWS[] = { 3, 40, 400, 4000 };
    uint64_t flows = FLOWS[below(4)], now = 0, gap = 1000000, until = 0;
    uint64_t arrives = 0, leaves = UINT64_MAX;
    fd_u32 waiting = 0, fat = 0;
    choose();
    begin_library();
    for (unsigned left = EPISODE; left > 0;) {
        if (now >= until) {
            gap = below(2) ? 600000 + below(150000) : 300000 + below(1700000);
            /* Of ten packets, those of few flows. */
            fat = below(2) ? 6 : 0;
            until = now + below(4000000000u);
            arrives += below(8) == 0 ? below(3000000000u) : 0;
        }
        if (arrives < leaves) {
            now = arrives;
            uint64_t flow = below(10) < fat ? below(3) : below(flows);
            waiting += arrive(flow, waiting, now);
            packets++, left--;
            arrives = now + below(2 * gap);
            leaves = leaves == UINT64_MAX && waiting ? now + below(1500000) : leaves;
        } else {
            now = leaves;
            depart(--waiting, now);
            leaves = waiting ? now + below(1500000) : UINT64_MAX;
        }
    }
}

int main(int count, char **words)
{
    if (count != 3) {
        fputs("random_collar PACKETS SEED\n", stderr);
        return 2;
    }
    of_load = strtoull(words[2], NULL, 10);
    of_library = ~of_load;
    while (packets < strtoull(words[1], NULL, 10))
        episode();
    printf("%" PRIu64 " packets, %" PRIu64 " departures, %" PRIu64 " marks, drops: overflow %" PRIu64 " filter %" PRIu64
           " memory %" PRIu64 " pie %" PRIu64 "\n",
           packets, total.departures, total.marks, total.drops[FD_OVERFLOW], total.drops[FD_FILTER], total.drops[FD_MEMORY],
           total.drops[FD_PIE]);
    return 0;
}
