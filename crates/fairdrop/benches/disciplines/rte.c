/*
 * DPDK's RED and PIE over a ring, under the load of load.rs, and the bare ring by itself.
 *
 * usage: rte time CASE LIMIT FLOWS ARRIVALS ROUNDS | rte count CASE LIMIT FLOWS ARRIVALS
 * CASE is c_ring, rte_red or rte_pie. Output as of the Rust program.
 *
 * Neither function keeps counters of packets and bytes, and neither does this program, while the disciplines in
 * Rust do. A random number is drawn by rte_red only after an early drop.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_pie.h>
#include <rte_red.h>

#define DELAY_NS 20000000u
#define LENGTH 1000u
#define WQ_LOG2 9

struct packet {
    uint64_t flow;
    uint32_t len;
    uint8_t class, ecn;
    uint16_t label;
    uint64_t enqueued;
    uint64_t handle;
};

struct load {
    struct packet *slots;
    uint64_t mask, head, tail;
    uint64_t now, step, random, flows, held, dropped, seen;
    /* Lengths over a thousand are given to rte_red in coarser units: its average has 32 bits. */
    unsigned red_shift;
    struct rte_red_config red_config;
    struct rte_red red;
    struct rte_pie_config pie_config;
    struct rte_pie pie;
};

enum kind { C_RING, RTE_RED, RTE_PIE };

static inline uint64_t lcg(uint64_t *state)
{
    return *state = *state * 1103515245 + 12345;
}

static inline __attribute__((always_inline)) void arrive(struct load *load, enum kind kind)
{
    struct packet packet = {
        .flow = (uint64_t)((unsigned __int128)lcg(&load->random) * load->flows >> 64),
        .len = LENGTH,
        .enqueued = load->now,
        .handle = load->now,
    };
    uint64_t waiting = load->tail - load->head;
    int drop = 0;
    load->now += load->step;
    if (kind == RTE_RED)
        drop = rte_red_enqueue(&load->red_config, &load->red, waiting >> load->red_shift, load->now);
    if (kind == RTE_PIE)
        drop = rte_pie_enqueue(&load->pie_config, &load->pie, waiting, packet.len, load->now);
    if (drop) {
        load->seen ^= packet.handle;
        load->dropped++;
    } else {
        load->slots[load->tail++ & load->mask] = packet;
    }
    if (load->tail - load->head > load->held) {
        struct packet *first = &load->slots[load->head++ & load->mask];
        if (kind == RTE_PIE) {
            /* As rte_sched does. */
            load->pie.qlen -= 1;
            load->pie.qlen_bytes -= first->len;
            rte_pie_dequeue(&load->pie, first->len, load->now);
        }
        load->seen ^= first->handle;
    }
}

/* The loop is the same code for settling and for measuring; a profiler collects inside `measured_loop`. */
#define CYCLE(name, kind)                                                                \
    static __attribute__((noinline)) void name(struct load *load, uint64_t arrivals)     \
    {                                                                                    \
        while (arrivals-- > 0)                                                           \
            arrive(load, kind);                                                          \
    }
CYCLE(cycle_ring, C_RING)
CYCLE(cycle_red, RTE_RED)
CYCLE(cycle_pie, RTE_PIE)

typedef void (*cycle)(struct load *, uint64_t);
static const struct {
    const char *name;
    cycle run;
} cases[] = {{"c_ring", cycle_ring}, {"rte_red", cycle_red}, {"rte_pie", cycle_pie}};

static __attribute__((noinline)) void measured_loop(cycle run, struct load *load, uint64_t arrivals)
{
    run(load, arrivals);
    __asm__ volatile("" : : "r"(load->seen) : "memory");
}

static struct load *filled(uint64_t limit, uint64_t flows)
{
    struct load *load = calloc(1, sizeof *load);
    uint64_t slots = 1;
    while (slots < limit)
        slots *= 2;
    load->slots = calloc(slots, sizeof *load->slots);
    load->mask = slots - 1;
    load->held = limit * 3 / 4;
    load->step = DELAY_NS / load->held;
    load->flows = flows;
    load->random = 2;
    while (limit >> load->red_shift > 1023)
        load->red_shift++;
    rte_red_rt_data_init(&load->red);
    uint16_t max_th = limit >> load->red_shift;
    /* max_p of 1/50, as 0.02 there. */
    if (rte_red_config_init(&load->red_config, WQ_LOG2, max_th / 2, max_th, 50) != 0)
        exit(1);
    rte_pie_rt_data_init(&load->pie);
    /* Times in nanoseconds; the limit has 16 bits. */
    load->pie_config.qdelay_ref = 15000000;
    load->pie_config.dp_update_interval = 15000000;
    load->pie_config.max_burst = 150000000;
    load->pie_config.tailq_th = limit < 65535 ? limit : 65535;
    return load;
}

int main(int argc, char **argv)
{
    if (argc < 6) {
        puts("c_ring\nrte_red\nrte_pie");
        return 0;
    }
    size_t at = 0;
    while (strcmp(cases[at].name, argv[2]) != 0)
        if (++at == sizeof cases / sizeof *cases)
            return 2;
    uint64_t arrivals = strtoull(argv[5], NULL, 10);
    struct load *load = filled(strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10));
    cases[at].run(load, (strcmp(argv[1], "count") == 0 ? 1 : 3) * load->held + 20000);
    load->dropped = 0;
    if (strcmp(argv[1], "count") == 0) {
        measured_loop(cases[at].run, load, arrivals);
        printf("%.17g\n", 100.0 * load->dropped / arrivals);
        return 0;
    }
    for (int rounds = argc > 6 ? atoi(argv[6]) : 1; rounds > 0; rounds--) {
        struct timespec start, end;
        clock_gettime(CLOCK_MONOTONIC, &start);
        measured_loop(cases[at].run, load, arrivals);
        clock_gettime(CLOCK_MONOTONIC, &end);
        double ns = (end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec);
        printf("%.17g\n", ns / arrivals);
    }
    return 0;
}
