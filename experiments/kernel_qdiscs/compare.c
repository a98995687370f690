/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One load through a queue discipline of the kernel and one of the library, decision by decision.
 *
 * Run: compare DISCIPLINE FORM LOAD EVENTS
 * FORM is one of those of `compare` alone (without arguments it lists them); LOAD is the seed of arrivals and of random numbers.
 *
 * Both sides meet the same arrivals at the same times, and departures when the link is free, which the kernel's packets keep busy.
 * Random numbers are those of the event: a side that draws once more than the other meets the same numbers at the next event.
 * A decision is what an event leads to: the packets dropped, the number marked, the packet that leaves and its ECN field.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "kernel.h"

#include <linux/pkt_sched.h>

#include "fairdrop.h"
#include "host.h"

enum { MOST_DROPS = 4096, LIMIT = 300, AMPLE = 9000, FLOWS = 40, MTU = 1514 };

/* What an event led to. */
struct decision {
    uint64_t dropped[MOST_DROPS];
    size_t drops;
    unsigned int marks;
    bool served;
    uint64_t id;
    uint8_t ecn;
};

/* A way in which a discipline of the kernel is set up, and its counterpart. */
struct form {
    const char *discipline;
    const char *name;
    /* The library's discipline and its parameters, `name=value` between blanks. */
    const char *library;
    const char *settings;
    bool ecn;
    /* Packets of one size, so that thresholds in bytes are thresholds in packets. */
    bool one_size;
};

#define CHOKE "limit=300 min_th=30 max_th=90 max_p=0.02 w_q=0.001953125 list_limit=512 "
#define RED "min_th=30 max_th=90 max_p=0.02 w_q=0.001953125 mean_packet_size=1000 "
#define CODEL "limit=300 mtu=1514 "
#define PIE "limit=300 mean_packet_size=1514 "
#define SFB "limit=300 levels=8 bins=16 full=all increment=0.00050355 decrement=0.0000457771 rehash=20s warm_up=5s "
#define CAKE "limit=300 follow_rate=false "
#define DUALPI2_SETTINGS "limit=300 min_th=1ms "

static const struct form FORMS[] = {
    { "choke", "source", "choke_hardware", CHOKE "addresses=linux_holes", false, false },
    { "choke", "linux", "choke_hardware", CHOKE "addresses=linux_6.12", false, false },
    { "choke", "linux ecn", "choke_hardware", CHOKE "addresses=linux_6.12 ecn=true", true, false },
    { "red", "source", "red", "limit=300 " RED, false, true },
    { "red", "source ecn", "red", "limit=300 " RED "ecn=true", true, true },
    { "red", "linux", "red", "limit=300 " RED "linux=6.12", false, true },
    { "red", "linux ecn", "red", "limit=300 " RED "linux=6.12 ecn=true", true, true },
    { "red", "linux bytes", "red", "limit=9000 " RED "linux=6.12 ecn=true", true, false },
    { "sfb", "source", "sfb", SFB, false, false },
    { "sfb", "linux", "sfb", SFB "linux=6.12", false, false },
    { "sfb", "linux ecn", "sfb", SFB "linux=6.12", true, false },
    { "codel", "source", "codel", CODEL "ecn=false", false, false },
    { "codel", "linux", "codel", CODEL "linux=6.12 ecn=false", false, false },
    { "codel", "linux ecn", "codel", CODEL "linux=6.12 ecn=true", true, false },
    { "fq_codel", "source", "fq_codel", CODEL "ecn=true mtu_backlog=all", true, false },
    { "fq_codel", "linux", "fq_codel", CODEL "linux=6.12 ecn=true", true, false },
    { "codel", "linux before 2026-03", "codel", CODEL "linux=6.17 ecn=true", true, false },
    { "fq_codel", "linux before 2026-03", "fq_codel", CODEL "linux=6.17 ecn=true", true, false },
    { "fq_codel", "6.12 before 2026-03", "fq_codel", CODEL "linux=6.12 ecn=true", true, false },
    { "pie", "source", "pie", PIE "derandomise=true steep=true", false, false },
    { "pie", "linux", "pie", PIE "linux=6.12", false, false },
    { "fq_pie", "source", "fq_pie", PIE "derandomise=true steep=true", false, false },
    { "fq_pie", "linux", "fq_pie", PIE "linux=6.12", false, false },
    { "fq_pie", "linux ecn", "fq_pie", PIE "linux=6.12 ecn=true", true, false },
    { "cake", "source", "cake", CAKE, true, false },
    { "cake", "linux", "cake", "limit=300 linux=6.12", true, false },
#ifdef DUALPI2
    { "dualpi2", "source", "dualpi2", DUALPI2_SETTINGS, true, false },
    { "dualpi2", "linux", "dualpi2", DUALPI2_SETTINGS "linux=7.3", true, false },
    { "dualpi2", "linux target", "dualpi2", "limit=300 min_th=1ms target=60ms linux=7.3", true, false },
#endif
};

static uint64_t load;

/* J. Steele, D. Lea, C. Flood, OOPSLA 2014, figure 16, with D. Stafford's constants. */
static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Random numbers of the disciplines: the `draw`th of an event. */
struct draws {
    uint64_t event, draw;
};
static struct draws kernel_draws, library_draws;

static uint64_t next(struct draws *draws)
{
    return mixed(mixed(load + 1) ^ mixed(draws->event) ^ mixed(0x9e3779b97f4a7c15u * ++draws->draw));
}

static uint64_t kernel_bits(void)
{
    return next(&kernel_draws);
}

static uint64_t library_bits(void *context, fairdrop_stream stream)
{
    (void)context, (void)stream;
    return next(&library_draws);
}

static struct decision kernel_decision, library_decision;

static void note(struct decision *decision, uint64_t id)
{
    if (decision->drops == MOST_DROPS)
        abort();
    decision->dropped[decision->drops++] = id;
}

static void kernel_drop(uint64_t id)
{
    note(&kernel_decision, id);
}

static void library_drop(void *context, const fairdrop_packet *packet, fairdrop_cause cause)
{
    (void)context, (void)cause;
    note(&library_decision, packet->cookie);
}

/* Twenty hosts send two flows each to four hosts. */
static struct fairdrop_hosts ends_of(uint64_t flow)
{
    return (struct fairdrop_hosts){ .source = flow / 2, .destination = flow % 4 };
}

static void library_hosts(void *context, const fairdrop_packet *packet, fairdrop_hosts *hosts)
{
    (void)context;
    *hosts = ends_of(packet->flow);
}

uint64_t kernel_flow_hash(uint64_t key_low, uint64_t key_high, uint64_t number)
{
    return fairdrop_hash(key_low, key_high, (const uint8_t *)&number, sizeof number);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static bool equal(struct decision *a, struct decision *b)
{
    qsort(a->dropped, a->drops, sizeof *a->dropped, by_number);
    qsort(b->dropped, b->drops, sizeof *b->dropped, by_number);
    return a->drops == b->drops && memcmp(a->dropped, b->dropped, a->drops * sizeof *a->dropped) == 0 && a->marks == b->marks &&
           a->served == b->served && a->id == b->id && a->ecn == b->ecn;
}

/* The link and what it carries. */
static uint64_t link_bps;
static unsigned int mean_len;

/* A random number of the load itself, below 1. */
static double uniform(void)
{
    static uint64_t drawn;
    return (double)(mixed(mixed(load) ^ 0xd1b54a32d192ed03u * ++drawn) >> 11) * 0x1p-53;
}

static void choose_link(void)
{
    static const uint64_t RATES[] = { 1000000, 10000000, 100000000 };
    link_bps = RATES[load % 3];
    mean_len = 1000;
}

/* Arrivals come in phases: each has its load, its fat flow and its packet sizes. */
static struct {
    double load, fat;
    uint64_t until;
    bool mixed;
} phase;

static void begin_phase(uint64_t now)
{
    static const double LOADS[] = { 0.3, 0.8, 0.95, 1.02, 1.1, 1.3, 1.7, 2.5, 4 };
    double packet_ns = 8e9 * mean_len / (double)link_bps;
    phase.load = LOADS[(size_t)(uniform() * 9)];
    phase.fat = uniform() < 0.5 ? 0.6 : 0.05;
    phase.until = now + (uint64_t)(packet_ns * (20 + uniform() * 2000));
    phase.mixed = uniform() < 0.5;
}

static void choose_arrival(struct arrival *arrival, const struct form *form, uint64_t id)
{
    arrival->id = id;
    arrival->flow = uniform() < phase.fat ? 0 : (uint64_t)(uniform() * FLOWS);
    struct fairdrop_hosts ends = ends_of(arrival->flow);
    arrival->source = ends.source;
    arrival->destination = ends.destination;
    double u = uniform();
    arrival->len = form->one_size || !phase.mixed ? mean_len : u < 0.3 ? 64 : u < 0.5 ? 576 : MTU;
    arrival->ecn = form->ecn && uniform() < 0.5 ? (uint8_t)(1 + (unsigned)(uniform() * 3)) : 0;
}

/* The table by which the kernel's RED decays after an idle time, as tc makes it: shifts for multiples of 2^cell, from
 * (1 - w)^m = e^-31 on the largest. tc counts in ticks of 64 ns, where the kernel looks microseconds up. */
static unsigned int idle_table(unsigned int w_log, uint8_t *shifts)
{
    double packet_ticks = ceil(8e9 * mean_len / (double)link_bps / 64);
    double rate = -log(1 - 1.0 / (1u << w_log)) / packet_ticks;
    unsigned int cell = 0;
    while (31 / rate / (1u << cell) >= 512)
        cell++;
    for (unsigned int i = 0; i < 255; i++)
        shifts[i] = (uint8_t)fmin(31, (double)(i << cell) * rate);
    shifts[255] = 31;
    return cell;
}

/* Attributes of the kernel's disciplines. */
static struct nlattr attributes[64];
static struct nlattr *table[64];

static void set_number(int type, uint32_t number)
{
    attributes[type].number = number;
    table[type] = &attributes[type];
}

static void set_data(int type, const void *data)
{
    attributes[type].data = data;
    table[type] = &attributes[type];
}

static void set_red(bool in_bytes, bool ecn, uint32_t limit)
{
    static struct tc_red_qopt options;
    static uint8_t shifts[256];
    uint32_t unit = in_bytes ? mean_len : 1;
    options = (struct tc_red_qopt){ .limit = limit * unit, .qth_min = 30 * unit, .qth_max = 90 * unit, .Wlog = 9,
                                    .flags = ecn ? TC_RED_ECN : 0 };
    options.Scell_log = (unsigned char)idle_table(options.Wlog, shifts);
    set_data(TCA_RED_PARMS, &options);
    set_data(TCA_RED_STAB, shifts);
    set_number(TCA_RED_MAX_P, (uint32_t)(0.02 * 0x1p32));
}

static void set_sfb(void)
{
    static struct tc_sfb_qopt options = { .rehash_interval = 20000, .warmup_time = 5000, .max = 25, .bin_size = 20,
                                          .increment = 33, .decrement = 3, .limit = LIMIT, .penalty_rate = 10,
                                          .penalty_burst = 20 };
    set_data(TCA_SFB_PARMS, &options);
}

static struct Qdisc *new_kernel(const struct form *form)
{
    if (strcmp(form->discipline, "red") == 0 || strcmp(form->discipline, "choke") == 0) {
        set_red(form->discipline[0] == 'r', form->ecn, form->one_size || form->discipline[0] == 'c' ? LIMIT : AMPLE);
    } else if (strcmp(form->discipline, "sfb") == 0) {
        set_sfb();
    } else if (strcmp(form->discipline, "codel") == 0) {
        set_number(TCA_CODEL_LIMIT, LIMIT);
        set_number(TCA_CODEL_ECN, form->ecn);
    } else if (strcmp(form->discipline, "fq_codel") == 0) {
        set_number(TCA_FQ_CODEL_LIMIT, LIMIT);
        set_number(TCA_FQ_CODEL_ECN, form->ecn);
    } else if (strcmp(form->discipline, "pie") == 0) {
        set_number(TCA_PIE_LIMIT, LIMIT);
        set_number(TCA_PIE_ECN, form->ecn);
    } else if (strcmp(form->discipline, "fq_pie") == 0) {
        set_number(TCA_FQ_PIE_LIMIT, LIMIT);
        set_number(TCA_FQ_PIE_ECN, form->ecn);
    } else if (strcmp(form->discipline, "cake") == 0) {
        set_number(TCA_CAKE_DIFFSERV_MODE, CAKE_DIFFSERV_BESTEFFORT);
        set_number(TCA_CAKE_MEMORY, LIMIT);
    }
#ifdef DUALPI2
    if (strcmp(form->discipline, "dualpi2") == 0) {
        set_number(TCA_DUALPI2_LIMIT, LIMIT);
        if (strstr(form->name, "target"))
            set_number(TCA_DUALPI2_TARGET, 60000);
    }
#endif
    struct nlattr options = { .data = table };
    return kernel_new(form->discipline, &options, kernel_bits, kernel_drop);
}

static void fail(const char *why)
{
    fprintf(stderr, "compare: %s\n", why);
    exit(1);
}

static fairdrop_queue *new_library(const struct form *form)
{
    static const uint64_t FLOW_KEY[2];
    static const fairdrop_host host = { .dropped = library_drop, .flow_key = FLOW_KEY, .random = library_bits, .hosts = library_hosts };
    fairdrop_params params;
    fairdrop_error error;
    char settings[400], *rest;
    if (fairdrop_params_init(&params, form->library, link_bps, &error) < 0)
        fail(error.message);
    snprintf(settings, sizeof settings, "%s", form->settings);
    for (char *setting = strtok_r(settings, " ", &rest); setting; setting = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(setting, '=');
        *value++ = 0;
        if (fairdrop_params_set(&params, setting, value, &error) < 0)
            fail(error.message);
    }
    size_t size = fairdrop_size(&params, &error);
    void *memory = size ? aligned_alloc(64, (size + 63) / 64 * 64) : NULL;
    fairdrop_queue *queue = memory ? fairdrop_init(memory, size, &params, &host, &error) : NULL;
    if (!queue)
        fail(error.message);
    return queue;
}

static uint64_t marked(const fairdrop_queue *queue)
{
    fairdrop_counters counters;
    if (fairdrop_stats(queue, &counters) < 0)
        fail("no counters");
    return counters.marked.packets;
}

static void arrive(struct Qdisc *kernel, fairdrop_queue *library, const struct arrival *arrival, uint64_t now)
{
    fairdrop_packet packet = { .flow = arrival->flow, .cookie = arrival->id, .len = arrival->len, .ecn = arrival->ecn };
    kernel_decision.marks = kernel_enqueue(kernel, arrival);
    uint64_t before = marked(library);
    if (fairdrop_enqueue(library, &packet, now) < 0)
        fail("an arrival was refused");
    library_decision.marks = (unsigned int)(marked(library) - before);
}

/* Returns the length of the kernel's packet, 0 where it had none. */
static unsigned int depart(struct Qdisc *kernel, fairdrop_queue *library, uint64_t now)
{
    struct arrival departure = { .len = 0 };
    fairdrop_packet packet;
    if (kernel_dequeue(kernel, &departure, &kernel_decision.marks)) {
        kernel_decision.served = true;
        kernel_decision.id = departure.id;
        kernel_decision.ecn = departure.ecn;
    }
    uint64_t before = marked(library);
    if (fairdrop_dequeue(library, now, &packet) == FAIRDROP_STATUS_OK) {
        library_decision.served = true;
        library_decision.id = packet.cookie;
        library_decision.ecn = packet.ecn;
    }
    library_decision.marks = (unsigned int)(marked(library) - before);
    return departure.len;
}

/* What was counted. */
static struct {
    uint64_t events, equal, dropped, marked, first;
    char difference[300];
} result;

static size_t described(char *to, size_t room, const struct decision *decision)
{
    size_t used = (size_t)snprintf(to, room, "drops %zu", decision->drops);
    for (size_t i = 0; i < decision->drops && i < 4 && used < room; i++)
        used += (size_t)snprintf(to + used, room - used, "%s%" PRIu64, i ? "," : ":", decision->dropped[i]);
    if (used < room)
        used += (size_t)snprintf(to + used, room - used, " marks %u sends %" PRId64 "/%u", decision->marks,
                                 decision->served ? (int64_t)decision->id : -1, decision->ecn);
    return used < room ? used : room;
}

static void judge(const char *event, uint64_t now)
{
    result.events++;
    result.dropped += kernel_decision.drops;
    result.marked += kernel_decision.marks;
    if (equal(&kernel_decision, &library_decision)) {
        result.equal++;
    } else if (!result.first) {
        result.first = result.events;
        size_t room = sizeof result.difference;
        size_t used = (size_t)snprintf(result.difference, room, "%s at %.6f s: kernel ", event, (double)now / 1e9);
        used += described(result.difference + used, room - used, &kernel_decision);
        used += (size_t)snprintf(result.difference + used, room - used, "; library ");
        described(result.difference + used, room - used, &library_decision);
    }
}

static void begin_event(uint64_t number)
{
    memset(&kernel_decision, 0, offsetof(struct decision, dropped));
    kernel_decision.drops = library_decision.drops = 0;
    kernel_decision.marks = library_decision.marks = 0;
    kernel_decision.served = library_decision.served = false;
    kernel_decision.id = library_decision.id = 0;
    kernel_decision.ecn = library_decision.ecn = 0;
    /* What the kernel draws as a discipline is made, the library draws at the first arrival. */
    if (number > 1)
        kernel_draws = (struct draws){ .event = number };
    library_draws = (struct draws){ .event = number };
}

static void run(const struct form *form, uint64_t events)
{
    choose_link();
    kernel_draws = (struct draws){ .event = 1 };
    struct Qdisc *kernel = new_kernel(form);
    if (!kernel)
        fail("the kernel's discipline refuses its options");
    fairdrop_queue *library = new_library(form);
    uint64_t now = 0, free_at = UINT64_MAX, arrives = 1000, id = 0;
    begin_phase(0);
    for (uint64_t event = 1; event <= events; event++) {
        bool is_arrival = arrives < free_at;
        now = is_arrival ? arrives : free_at;
        begin_event(event);
        kernel_set_time(now);
        if (is_arrival) {
            struct arrival arrival;
            choose_arrival(&arrival, form, id++);
            arrive(kernel, library, &arrival, now);
            if (now >= phase.until)
                begin_phase(now);
            double gap_ns = 8e9 * mean_len / (double)link_bps / phase.load * -log(1 - uniform());
            arrives = now + 1 + (uint64_t)gap_ns;
            free_at = free_at == UINT64_MAX ? now : free_at;
        } else {
            unsigned int len = depart(kernel, library, now);
            free_at = len ? now + 8000000000u * (uint64_t)len / link_bps : UINT64_MAX;
        }
        judge(is_arrival ? "arrival" : "departure", now);
    }
}

static const struct form *form_named(const char *discipline, const char *name)
{
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++)
        if (strcmp(FORMS[i].discipline, discipline) == 0 && strcmp(FORMS[i].name, name) == 0)
            return &FORMS[i];
    fail("no such discipline and form");
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc == 1) {
        for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++)
            printf("%s\t%s\t%s\t%s\n", FORMS[i].discipline, FORMS[i].name, FORMS[i].library, FORMS[i].settings);
        return 0;
    }
    if (argc != 5)
        fail("compare DISCIPLINE FORM LOAD EVENTS");
    load = strtoull(argv[3], NULL, 10);
    run(form_named(argv[1], argv[2]), strtoull(argv[4], NULL, 10));
    printf("%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\n", result.events, result.equal, result.dropped,
           result.marked, result.first, result.difference);
    return 0;
}
