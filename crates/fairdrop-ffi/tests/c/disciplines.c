/* Every discipline of the catalogue, with its defaults and with every parameter set to its default by name, under the same
 * overload: each packet comes back exactly once, the counters say so, and nothing is allocated. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fairdrop.h"

enum { ARRIVALS = 20000, LIMIT = 50 };

static uint64_t block[1 << 16];
static const uint64_t flow_key[2] = {1, 2};
/* What became of each packet: 0 on its way, 1 departed, 2 dropped. */
static unsigned char fate[ARRIVALS];
static unsigned long drops[64];
static const char *running = "";
/* While this is set, the allocator ends the program. */
static bool no_allocation;

#ifdef WRAPPED
#ifdef __cplusplus
extern "C" {
#endif
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
#ifdef __cplusplus
}
#endif

static void forbid(void) {
    if (no_allocation) abort();
}

void *__wrap_malloc(size_t size) {
    forbid();
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    forbid();
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size) {
    forbid();
    return __real_realloc(old, size);
}
#endif

static void check(bool holds, const char *what) {
    if (holds) return;
    no_allocation = false;
    fprintf(stderr, "%s: %s\n", running, what);
    exit(1);
}

static void on_drop(void *context, const fairdrop_packet *packet, fairdrop_cause cause) {
    fairdrop_packet again;
    check(packet->cookie < ARRIVALS && fate[packet->cookie] == 0, "a packet is dropped that is not on its way");
    check(cause < fairdrop_cause_count(), "there is no such cause");
    check(fairdrop_dequeue(*(fairdrop_queue **)context, 0, &again) == FAIRDROP_STATUS_REENTERED, "a callback may call");
    fate[packet->cookie] = 2;
    ++drops[cause];
}

/* A generator for the script; that of the library is for the queue. */
static uint32_t script(void) {
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

static void depart(fairdrop_queue *queue, uint64_t now) {
    fairdrop_packet packet;
    fairdrop_status status = fairdrop_dequeue(queue, now, &packet);
    if (status == FAIRDROP_STATUS_NONE) return;
    check(status == FAIRDROP_STATUS_OK && packet.cookie < ARRIVALS && fate[packet.cookie] == 0, "what departs was on its way");
    check(packet.len == 100 + packet.cookie % 1400, "it is the packet that arrived");
    fate[packet.cookie] = 1;
}

static void overload(fairdrop_queue *queue) {
    fairdrop_packet packet;
    uint64_t now = 0, deadline, cookie;
    memset(&packet, 0, sizeof packet);
    for (cookie = 0; cookie < ARRIVALS; ++cookie) {
        now += script() % 1000000u;
        while (fairdrop_deadline(queue, &deadline) == FAIRDROP_STATUS_OK && deadline <= now) fairdrop_tick(queue, now);
        packet.flow = script() % 3 == 0 ? 0 : script() % 10;
        packet.len = (uint32_t)(100 + cookie % 1400);
        packet.ecn = (uint8_t)(script() % 4 == 0 ? 2 : 0);
        packet.traffic_class = (uint8_t)(packet.flow % 2);
        packet.cookie = cookie;
        check(fairdrop_enqueue(queue, &packet, now) == FAIRDROP_STATUS_OK, "a packet is refused");
        if (script() % 3 == 0) depart(queue, now);
    }
}

static void account(const fairdrop_queue *queue) {
    fairdrop_counters counters;
    fairdrop_count backlog, dropped;
    unsigned long by_fate[3] = {0, 0, 0};
    size_t number;
    check(fairdrop_stats(queue, &counters) == FAIRDROP_STATUS_OK, "there are no counters");
    check(fairdrop_backlog(queue, &backlog) == FAIRDROP_STATUS_OK, "there is no backlog");
    for (number = 0; number < ARRIVALS; ++number) ++by_fate[fate[number]];
    check(counters.arrived.packets == ARRIVALS, "arrivals");
    check(counters.departed.packets == by_fate[1], "departures");
    check(counters.dropped.packets == by_fate[2], "drops");
    check(backlog.packets == by_fate[0] && backlog.packets <= LIMIT, "backlog");
    check(counters.arrived.bytes == counters.departed.bytes + counters.dropped.bytes + backlog.bytes, "bytes");
    for (number = 0; number < fairdrop_cause_count(); ++number) {
        check(fairdrop_dropped(queue, (uint8_t)number, &dropped) == FAIRDROP_STATUS_OK, "a cause has no count");
        check(dropped.packets == drops[number], fairdrop_cause_name((uint8_t)number));
    }
}

static void set_every_default(size_t discipline, size_t count, fairdrop_params *params) {
    fairdrop_parameter parameter;
    fairdrop_error error;
    char name[80];
    size_t number;
    for (number = 0; number < count; ++number) {
        check(fairdrop_parameter_at(discipline, number, &parameter) == FAIRDROP_STATUS_OK, "a parameter is missing");
        sprintf(name, "%s%s%s", parameter.table, *parameter.table ? "." : "", parameter.name);
        if (*parameter.default_text == '\0')
            continue; /* Another name of a parameter. */
        check(fairdrop_params_set(params, name, parameter.default_text, &error) == FAIRDROP_STATUS_OK, name);
    }
}

static void run(size_t discipline, const fairdrop_discipline *of, bool by_name) {
    fairdrop_params params;
    fairdrop_host host;
    fairdrop_error error;
    fairdrop_queue *queue;
    size_t size;

    running = of->name;
    memset(fate, 0, sizeof fate);
    memset(drops, 0, sizeof drops);
    memset(&host, 0, sizeof host);
    host.context = &queue;
    host.dropped = on_drop;
    host.flow_key = flow_key;
    host.seed = 42;
    no_allocation = true;
    check(fairdrop_params_init(&params, of->name, 10000000, &error) == FAIRDROP_STATUS_OK, "unknown");
    if (by_name) set_every_default(discipline, of->parameters, &params);
    check(fairdrop_params_set_number(&params, "limit", LIMIT, &error) == FAIRDROP_STATUS_OK, error.message);
    size = fairdrop_size(&params, &error);
    check(size > 0 && size <= sizeof block, "size");
    check(fairdrop_init(block, size - 1, &params, &host, &error) == NULL && error.status == FAIRDROP_STATUS_NO_ROOM, "room");
    queue = fairdrop_init(block, size, &params, &host, &error);
    check(queue != NULL, error.message);
    overload(queue);
    account(queue);
    no_allocation = false;
}

int main(void) {
    fairdrop_discipline of;
    size_t number;
    for (number = 0; fairdrop_discipline_at(number, &of) == FAIRDROP_STATUS_OK; ++number) {
        unsigned long first[64];
        run(number, &of, false);
        memcpy(first, drops, sizeof first);
        run(number, &of, true);
        printf("%s\n", of.name);
        /* The script goes on between the runs, so the numbers differ; what was reached does not. */
        check((first[0] > 0) == (drops[0] > 0) || first[0] < 5 || drops[0] < 5, "the defaults are not the defaults");
    }
    return number == fairdrop_discipline_count() && number > 0 ? 0 : 1;
}
