/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the vectors don't reach: the arithmetic beside that of long double, the shaper beside exact sums, draws and the ring beside a
 * list, settings out of range. Ends with status 1 and a line for each finding. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "../choke/choke.h"
#include "../chokew/chokew.h"
#include "../collar/collar.h"
#include "../core/shaper.h"
#include "../red/red.h"
#include "../ward/ward.h"

enum { SLOTS = 64, PACKETS = 28 };

struct fd_host {
    struct fd_slot slots[SLOTS];
    int packet[SLOTS];
    int dropped; /* the last one; -1: none */
};

static int findings;
static uint64_t seed = 1;

static void expect(bool holds, const char *format, ...)
{
    va_list arguments;
    if (holds)
        return;
    findings++;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

/* G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. */
static uint64_t bits(void)
{
    uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static fd_u32 fd_random(struct fd_host *host, enum fd_stream stream)
{
    (void)host, (void)stream;
    return (fd_u32)(bits() >> 32);
}

static fd_u64 fd_random_64(struct fd_host *host, enum fd_stream stream)
{
    (void)host, (void)stream;
    return bits();
}

static fd_u64 fd_below(struct fd_host *host, enum fd_stream stream, fd_u64 n)
{
    (void)host, (void)stream;
    return (fd_u64)((unsigned __int128)bits() * n >> 64);
}

static struct fd_slot *fd_slot_at(struct fd_host *host, fd_u32 index)
{
    return index < SLOTS ? &host->slots[index] : NULL;
}

static void fd_move_packet(struct fd_host *host, fd_u32 to, fd_u32 from)
{
    host->packet[to] = host->packet[from];
}

static void fd_drop_waiting(struct fd_host *host, fd_u32 index, fd_u32 len, enum fd_cause cause)
{
    (void)len, (void)cause;
    host->dropped = host->packet[index];
}

static void fd_compared(struct fd_host *host, fd_u32 index)
{
    (void)host, (void)index;
}

static void fd_stuck(struct fd_host *host)
{
    (void)host;
    expect(false, "a draw found nothing");
}

/* The average stays within 2^-32 / w_q packets of the real one, plus 2^-32 for the weight's own rounding. */
static void check_average(void)
{
    static const double WEIGHTS[] = { 1.0, 0.5, 0.125, 0.01, 0.002, 0.0001 };
    for (size_t i = 0; i < sizeof WEIGHTS / sizeof *WEIGHTS; i++) {
        fd_q32 weight = (fd_q32)(WEIGHTS[i] * 0x1p32 + 0.5), average = 0;
        long double exact = 0, worst = 0, bound;
        for (int step = 0; step < 200000; step++) {
            fd_u32 waiting = (fd_u32)(bits() % 300);
            average = fd_follow(average, (fd_q32)waiting << 32, weight);
            exact += WEIGHTS[i] * (waiting - exact);
            worst = fmaxl(worst, fabsl(exact - average / 0x1p32L));
        }
        bound = (1 + 300 * 0.5L) * 0x1p-32L / WEIGHTS[i];
        expect(worst <= bound, "w_q %g: the average is off by %Lg, more than %Lg", WEIGHTS[i], worst, bound);
    }
}

/* Each rounding of the base counts as often as the exponent says. */
static void check_power(void)
{
    for (int i = 0; i < 20000; i++) {
        unsigned cut = (unsigned)(bits() % 64);
        fd_q32 base = FD_ONE - (bits() >> (32 + cut % 32));
        fd_u64 exponent = bits() >> cut;
        long double exact = powl(base / 0x1p32L, exponent), found = fd_power(base, exponent) / 0x1p32L;
        expect(fabsl(found - exact) <= (64 + exponent * exact) * 0x1p-32L, "%" PRIu64 " to the power %" PRIu64 ": %Lg, not %Lg",
               (uint64_t)base, (uint64_t)exponent, found, exact);
    }
}

static void check_times_and_ratio(void)
{
    for (int i = 0; i < 100000; i++) {
        unsigned cut = 16 + (unsigned)(bits() % 32);
        fd_q32 a = bits() >> cut, part = bits() % (FD_ONE + 1), b = (1 + bits() % 65536) << 32;
        unsigned __int128 product = (unsigned __int128)a * part + (1u << 31);
        expect(fd_times(a, part) == (fd_q32)(product >> 32), "%" PRIu64 " * %" PRIu64, (uint64_t)a, (uint64_t)part);
        expect(fd_ratio(a, b) == (fd_q32)(((unsigned __int128)a << 32) / b), "%" PRIu64 " / %" PRIu64, (uint64_t)a,
               (uint64_t)b);
    }
}

/* Without pauses the link is free again after exactly the bits that it has sent, however odd rate and lengths are. */
static void check_shaper(void)
{
    static const fd_u64 RATES[] = { 8, 56000, 999983, 1000000, 12345678901, 1ull << 40 };
    for (size_t i = 0; i < sizeof RATES / sizeof *RATES; i++) {
        struct fd_shaper shaper = { .rate = RATES[i], .free_at = 5, .was_idle = 1 };
        unsigned __int128 sent = 0;
        fd_u64 begin = 1000, due;
        for (int packet = 0; packet < 100000; packet++) {
            fd_u32 len = 40 + (fd_u32)(bits() % 1500);
            fd_u64 now = packet == 0 ? begin : shaper.free_at;
            expect(fd_may_send(&shaper, now), "the link is not free when it should be");
            expect(packet == 0 || !fd_may_send(&shaper, now - 1), "the link is free too early");
            fd_sent(&shaper, len, now + (packet % 3 ? 0 : 999)); /* late: made up for */
            sent += len;
            begin += packet == 0 ? 999 : 0;
        }
        due = begin + (fd_u64)(sent * FD_NS_BITS / RATES[i]);
        expect(shaper.free_at == due, "rate %" PRIu64 ": free at %" PRIu64 ", not %" PRIu64, (uint64_t)RATES[i],
               (uint64_t)shaper.free_at, (uint64_t)due);
    }
}

/* A list of numbers beside the ring: order, backlog, and draws that are uniform over what waits. */
static void check_ring(void)
{
    static struct fd_host host;
    struct fd_ring ring = { .mask = SLOTS - 1 };
    int list[PACKETS], waiting = 0, next = 0;
    for (int step = 0; step < 300000; step++) {
        unsigned action = (unsigned)(bits() % 8);
        if (action < 4 && waiting < PACKETS) {
            fd_u32 index = fd_append(&host, &ring, (fd_u32)next, 100);
            expect(index < SLOTS, "no room for packet %d", next);
            host.packet[index] = next;
            list[waiting++] = next++;
        } else if (action == 4 && waiting) {
            fd_u32 index, len;
            expect(fd_pop(&host, &ring, &index, &len) && host.packet[index] == list[0], "another head than %d", list[0]);
            for (int i = 0; i + 1 < waiting; i++)
                list[i] = list[i + 1];
            waiting--;
        } else if (waiting) {
            fd_u32 number = fd_draw(&host, &ring);
            int at = 0, drawn = host.packet[fd_index(&ring, number)];
            fd_discard(&host, &ring, number, FD_MATCH_QUEUED);
            expect(host.dropped == drawn, "packet %d was dropped for %d", host.dropped, drawn);
            while (at < waiting && list[at] != drawn)
                at++;
            expect(at < waiting, "packet %d does not wait", drawn);
            for (; at + 1 < waiting; at++)
                list[at] = list[at + 1];
            waiting--;
        }
        expect(ring.packets == (fd_u32)waiting && ring.bytes == 100u * (fd_u32)waiting, "%u packets wait, not %d",
               ring.packets, waiting);
    }
}

/* Draws from a ring with holes: each packet as often as another, or by its weight. */
static void check_draws(bool by_weight)
{
    static struct fd_host host;
    struct fd_ring ring = { .mask = SLOTS - 1 };
    struct fd_weights weights = { .cell = 1, .heaviest = 900 };
    double drawn[PACKETS] = { 0 }, total = 0, distance = 0;
    const int draws = 400000, left = 12;
    for (int i = 0; i < SLOTS; i++)
        host.slots[i].len = 0;
    for (int i = 0; i < PACKETS; i++)
        host.packet[fd_append(&host, &ring, 0, i % 3 ? 300 : 900)] = i;
    for (int i = 1; i < PACKETS - 1; i += 1 + (i % 5 == 0))
        if (ring.packets > (fd_u32)left)
            fd_discard(&host, &ring, ring.head + (fd_u32)i, FD_MATCH_QUEUED);
    for (int i = 0; i < draws; i++) {
        fd_u32 number = by_weight ? fd_draw_by_weight(&host, &ring, &weights, NULL) : fd_draw(&host, &ring);
        drawn[host.packet[fd_index(&ring, number)]]++;
    }
    total = by_weight ? (double)ring.bytes : left;
    for (fd_u32 i = 0; i < fd_span(&ring); i++) {
        fd_u32 len = fd_len_at(&host, &ring, ring.head + i);
        double expected = draws * (by_weight ? len : 1) / total;
        if (len)
            distance += pow(drawn[host.packet[fd_index(&ring, ring.head + i)]] - expected, 2) / expected;
    }
    /* Chi square of 11 degrees of freedom: 45.1 is exceeded once in 200,000 times. The seed is fixed. */
    expect(ring.packets == (fd_u32)left && distance < 45.1, "draws%s: chi square %g of %u packets",
           by_weight ? " by weight" : "", distance, ring.packets);
}

/* Each of these would make a division by zero, an overflow or an endless loop if it were taken. */
static void check_settings_of_collar(void)
{
    const struct fd_collar_params good = { .target = 15000000, .span = 200000000, .share = FD_Q16, .ids = FD_MOST_IDS,
                                           .sets = FD_MOST_SETS };
    struct fd_collar_params bad[8];
    expect(fd_collar_valid(&good), "good settings of COLLAR are refused");
    for (int i = 0; i < 8; i++)
        bad[i] = good;
    bad[0].target = 999, bad[1].span = 999, bad[2].share = 0, bad[3].share = FD_Q16 + 1, bad[4].ids = 129;
    bad[5].ids = FD_MOST_IDS + 128, bad[6].sets = 0, bad[7].sets = FD_MOST_SETS + 1;
    for (int i = 0; i < 8; i++)
        expect(!fd_collar_valid(&bad[i]), "bad settings %d of COLLAR are taken", i);
}

static void check_settings(void)
{
    const struct fd_red_params red = { .min_th = 30 * FD_ONE, .max_th = 60 * FD_ONE, .max_p = FD_ONE / 50, .w_q = FD_ONE / 500,
                                       .mean_packet_time = 1, .mean_packet_size = 1000 };
    const struct fd_choke_params choke = { .red = red, .candidates = { 1 }, .regions = 1 };
    struct fd_chokew_params chokew = { .red = red, .l_th = 100 * FD_ONE, .l_minus = 125 * FD_ONE, .l_plus = 175 * FD_ONE };
    struct fd_red_params bad_red[8];
    struct fd_choke_params bad_choke[4];
    for (int i = 0; i < FD_CLASSES; i++)
        chokew.weights[i] = FD_WEIGHT_ONE;
    expect(fd_red_valid(&red) && fd_choke_valid(&choke) && fd_chokew_valid(&chokew), "good settings are refused");
    for (int i = 0; i < 8; i++)
        bad_red[i] = red;
    bad_red[0].max_th = red.min_th, bad_red[1].max_p = FD_ONE + 1, bad_red[2].w_q = 0, bad_red[3].mean_packet_time = 0;
    bad_red[4].mean_packet_size = 0, bad_red[5].switches = FD_WAIT | FD_INDEPENDENT, bad_red[6].max_th = ~0ull;
    bad_red[7].min_th = ~0ull;
    for (int i = 0; i < 8; i++)
        expect(!fd_red_valid(&bad_red[i]), "bad settings %d of RED are taken", i);
    for (int i = 0; i < 4; i++)
        bad_choke[i] = choke;
    bad_choke[0].regions = 0, bad_choke[1].regions = FD_MOST_REGIONS + 1, bad_choke[2].candidates[0] = FD_MOST_CANDIDATES + 1;
    bad_choke[3].red.w_q = FD_ONE + 1;
    for (int i = 0; i < 4; i++)
        expect(!fd_choke_valid(&bad_choke[i]), "bad settings %d of CHOKe are taken", i);
    chokew.weights[FD_CLASSES - 1] = 0;
    expect(!fd_chokew_valid(&chokew), "a weight of 0 is taken");
    chokew.weights[FD_CLASSES - 1] = FD_WEIGHT_ONE, chokew.l_plus = chokew.l_minus;
    expect(!fd_chokew_valid(&chokew), "l_plus equal to l_minus is taken");
    check_settings_of_collar();
}

int main(void)
{
    check_average();
    check_power();
    check_times_and_ratio();
    check_shaper();
    check_ring();
    check_draws(false);
    check_draws(true);
    check_settings();
    printf("%d findings\n", findings);
    return findings > 0;
}
