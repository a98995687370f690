/*
 * Bursts of 32 real mbufs before a ring of 2^n pointers: DPDK's RED, CHOKe by fairdrop_decide_burst, and the ring by itself.
 * The flow of a packet is the hash in its mbuf, as a network card leaves it there.
 *
 * usage: mbufs time CASE LIMIT FLOWS ARRIVALS ROUNDS | mbufs count CASE LIMIT FLOWS ARRIVALS
 * CASE is mbuf_ring, mbuf_red or mbuf_choke; with _empties, all that waits departs every 64 bursts, and the link is idle then.
 * Output as of the Rust program. Mbufs that leave or are dropped come back as arrivals, by a stack of the program's own.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_mbuf.h>
#include <rte_red.h>

#include <fairdrop.h>

#define BURST 32
#define DELAY_NS 20000000u
#define LENGTH 1000u
#define WQ_LOG2 9

enum kind { RING, RED, CHOKE };

struct load {
    struct rte_mbuf **slots, **spare;
    uint64_t spares, mask, now, step, random, flows, held, dropped, seen, bursts;
    bool empties;
    unsigned red_shift;
    struct rte_red_config red_config;
    struct rte_red red;
    fairdrop_decision *choke;
    fairdrop_id_ring ring;
    uint64_t streams[16];
};

static inline uint64_t lcg(uint64_t *state)
{
    return *state = *state * 1103515245 + 12345;
}

static uint64_t next_random(void *context, fairdrop_stream stream)
{
    return lcg(&((struct load *)context)->streams[stream]);
}

static inline void give_back(struct load *load, struct rte_mbuf *packet)
{
    load->spare[load->spares++] = packet;
}

static inline void drop(struct load *load, struct rte_mbuf *packet)
{
    load->dropped++;
    give_back(load, packet);
}

static inline void push(struct load *load, struct rte_mbuf *packet)
{
    load->slots[load->ring.tail++ & load->mask] = packet;
    load->ring.packets++;
}

static inline __attribute__((always_inline)) void decide(struct load *load, struct rte_mbuf **packets, enum kind kind)
{
    if (kind != CHOKE) {
        for (int at = 0; at < BURST; at++) {
            unsigned waiting = load->ring.packets >> load->red_shift;
            if (kind == RED && rte_red_enqueue(&load->red_config, &load->red, waiting, load->now))
                drop(load, packets[at]);
            else
                push(load, packets[at]);
        }
        return;
    }
    uint32_t ids[BURST], lens[BURST], tail = load->ring.tail;
    fairdrop_victim victims[BURST];
    fairdrop_outcome outcomes[BURST];
    fairdrop_burst burst = {.ids = ids, .lens = lens, .packets = BURST};
    for (int at = 0; at < BURST; at++) {
        ids[at] = packets[at]->hash.rss;
        lens[at] = packets[at]->pkt_len;
    }
    load->ring.victim = victims;
    load->ring.victim_room = BURST;
    if (fairdrop_decide_burst(load->choke, &burst, &load->ring, load->now, outcomes) < 0)
        abort();
    for (int at = 0; at < BURST; at++) {
        if (outcomes[at].action == FAIRDROP_ACTION_DROP)
            drop(load, packets[at]);
        else
            load->slots[tail++ & load->mask] = packets[at];
    }
    for (uint32_t at = 0; at < load->ring.victims; at++)
        drop(load, load->slots[victims[at].slot]);
}

static inline __attribute__((always_inline)) void depart(struct load *load, uint64_t held, enum kind kind)
{
    while (load->ring.packets > held) {
        uint64_t at = load->ring.head++ & load->mask;
        if (kind == CHOKE && load->ring.ids[at] == FAIRDROP_NO_ID)
            continue;
        struct rte_mbuf *packet = load->slots[at];
        load->ring.packets--;
        load->ring.bytes -= packet->pkt_len;
        load->seen ^= packet->hash.rss;
        give_back(load, packet);
    }
    if (held == 0) {
        if (kind == RED)
            rte_red_mark_queue_empty(&load->red, load->now);
        if (kind == CHOKE)
            fairdrop_decision_idle(load->choke, load->now);
    }
}

static inline __attribute__((always_inline)) void burst(struct load *load, enum kind kind)
{
    struct rte_mbuf *packets[BURST];
    for (int at = 0; at < BURST; at++) {
        packets[at] = load->spare[--load->spares];
        packets[at]->hash.rss = (uint64_t)((unsigned __int128)lcg(&load->random) * load->flows >> 64);
        packets[at]->pkt_len = LENGTH;
    }
    load->now += BURST * load->step;
    decide(load, packets, kind);
    depart(load, load->empties && ++load->bursts % 64 == 0 ? 0 : load->held, kind);
}

#define CYCLE(name, kind)                                                             \
    static __attribute__((noinline)) void name(struct load *load, uint64_t arrivals)  \
    {                                                                                 \
        for (; arrivals >= BURST; arrivals -= BURST)                                  \
            burst(load, kind);                                                        \
    }
CYCLE(cycle_ring, RING)
CYCLE(cycle_red, RED)
CYCLE(cycle_choke, CHOKE)

typedef void (*cycle)(struct load *, uint64_t);
static const struct {
    const char *name;
    cycle run;
    bool empties;
} cases[] = {
    {"mbuf_ring", cycle_ring, false},           {"mbuf_red", cycle_red, false},
    {"mbuf_choke", cycle_choke, false},         {"mbuf_ring_empties", cycle_ring, true},
    {"mbuf_red_empties", cycle_red, true},      {"mbuf_choke_empties", cycle_choke, true},
};

static __attribute__((noinline)) void measured_loop(cycle run, struct load *load, uint64_t arrivals)
{
    run(load, arrivals);
    __asm__ volatile("" : : "r"(load->seen) : "memory");
}

static void set_up_choke(struct load *load, uint64_t limit)
{
    fairdrop_params params;
    fairdrop_error error;
    fairdrop_host host = {.context = load, .random = next_random};
    const struct {
        const char *name;
        double value;
    } settings[] = {{"limit", limit}, {"min_th", limit / 2.0}, {"max_th", limit}, {"max_p", 0.02}};
    uint64_t *block;
    size_t size;
    if (fairdrop_params_init(&params, "choke", LENGTH * 8000000000ull / load->step, &error) < 0)
        exit(fprintf(stderr, "%s\n", error.message));
    for (size_t at = 0; at < sizeof settings / sizeof *settings; at++)
        if (fairdrop_params_set_number(&params, settings[at].name, settings[at].value, &error) < 0)
            exit(fprintf(stderr, "%s\n", error.message));
    size = fairdrop_decision_size(&params, &error);
    block = calloc(1, size + 8);
    load->choke = fairdrop_decision_init(block, size, &params, &host, &error);
    if (!load->choke)
        exit(fprintf(stderr, "%s\n", error.message));
}

static struct load *filled(uint64_t limit, uint64_t flows, bool empties)
{
    struct load *load = calloc(1, sizeof *load);
    uint64_t slots = 1, mbufs;
    while (slots < 2 * limit + BURST)
        slots *= 2;
    load->slots = calloc(slots, sizeof *load->slots);
    load->mask = slots - 1;
    load->ring.ids = malloc(slots * sizeof *load->ring.ids);
    load->ring.lens = calloc(slots, sizeof *load->ring.lens);
    load->ring.slots = slots;
    memset(load->ring.ids, 255, slots * sizeof *load->ring.ids);
    load->held = limit * 3 / 4;
    load->step = DELAY_NS / load->held;
    load->flows = flows;
    load->random = 2;
    load->empties = empties;
    for (int stream = 0; stream < 16; stream++)
        load->streams[stream] = stream + 3;
    while (limit >> load->red_shift > 1023)
        load->red_shift++;
    rte_red_rt_data_init(&load->red);
    uint16_t max_th = limit >> load->red_shift;
    if (rte_red_config_init(&load->red_config, WQ_LOG2, max_th / 2, max_th, 50) != 0)
        exit(1);
    set_up_choke(load, limit);
    mbufs = limit + 2 * BURST;
    load->spare = calloc(mbufs, sizeof *load->spare);
    struct rte_mempool *pool = rte_pktmbuf_pool_create("mbufs", mbufs, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    if (!pool || rte_pktmbuf_alloc_bulk(pool, load->spare, mbufs) != 0)
        exit(fprintf(stderr, "no mbufs\n"));
    load->spares = mbufs;
    return load;
}

int main(int argc, char **argv)
{
    char *eal[] = {argv[0], "--no-huge", "--no-pci", "--no-shconf", "--no-telemetry", "-m", "64", "-l", "0", "--log-level", "1"};
    size_t at = 0;
    if (argc < 6) {
        for (; at < sizeof cases / sizeof *cases; at++)
            puts(cases[at].name);
        return 0;
    }
    while (strcmp(cases[at].name, argv[2]) != 0)
        if (++at == sizeof cases / sizeof *cases)
            return 2;
    if (rte_eal_init(sizeof eal / sizeof *eal, eal) < 0)
        return 1;
    uint64_t arrivals = strtoull(argv[5], NULL, 10);
    bool counts = strcmp(argv[1], "count") == 0;
    struct load *load = filled(strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10), cases[at].empties);
    cases[at].run(load, (counts ? 1 : 3) * load->held + 20000);
    load->dropped = 0;
    if (counts) {
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
