#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>
#include <fairdrop.h>

static FAIRDROP_MEMORY(block, FAIRDROP_CHOKE_BYTES(100));      /* no heap: the size is known to the compiler */

static void on_drop(void *context, const fairdrop_packet *packet, fairdrop_cause cause) {
    unsigned long *freed = (unsigned long *)context;
    ++*freed;                                      /* free the buffer that packet->cookie stands for */
    (void)packet, (void)cause;
}

int main(void) {
    fairdrop_params params;
    fairdrop_error error;
    fairdrop_host host = {0};
    fairdrop_packet packet = {0};
    fairdrop_counters counters;
    unsigned long freed = 0;
    uint64_t now_ns, flow_key[2];

    if (fairdrop_params_init(&params, "choke", 100000000, &error) < 0 ||       /* a link of 100 Mb/s */
        fairdrop_params_set(&params, "limit", "100p", &error) < 0 ||
        fairdrop_params_set(&params, "red.min_th", "20p", &error) < 0 ||
        fairdrop_params_set(&params, "red.max_th", "60p", &error) < 0) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    host.context = &freed;
    host.dropped = on_drop;
    if (getrandom(flow_key, sizeof flow_key, 0) != sizeof flow_key) return 1;
    host.flow_key = flow_key;
    host.seed = 1;                                 /* the same numbers in each run; a router's is random as well */
    fairdrop_queue *queue = fairdrop_init(block, sizeof block, &params, &host, &error);
    if (queue == NULL) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    /* Two packets arrive for each that leaves; every second one belongs to flow 0. */
    for (now_ns = 0; now_ns < 1000000000; now_ns += 80000) {
        packet.len = 1000;
        packet.flow = 0;
        fairdrop_enqueue(queue, &packet, now_ns);
        packet.flow = 1 + now_ns / 80000 % 9;
        fairdrop_enqueue(queue, &packet, now_ns);
        if (fairdrop_dequeue(queue, now_ns, &packet) == FAIRDROP_STATUS_OK) {
            /* transmit what packet.cookie stands for, with packet.ecn in its header */
        }
    }
    fairdrop_stats(queue, &counters);
    printf("%llu arrived, %llu departed, %lu dropped\n", (unsigned long long)counters.arrived.packets,
           (unsigned long long)counters.departed.packets, freed);
    return 0;
}
