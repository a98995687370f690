#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <fairdrop.h>

enum { SLOTS = 256 };                              /* more than the limit, and a power of two */

struct ring {
    struct { uint64_t flow; uint32_t len; } packet[SLOTS];   /* len 0: dropped in its place */
    uint32_t head, tail, packets;
    uint64_t bytes;
};

static bool packet_at(void *context, uint32_t slot, fairdrop_waiting *waiting) {
    const struct ring *ring = (const struct ring *)context;
    uint32_t at = (ring->head + slot) % SLOTS;
    waiting->flow = ring->packet[at].flow;
    waiting->len = ring->packet[at].len;
    return waiting->len > 0;
}

static void drop_at(struct ring *ring, uint32_t at) {
    ring->packets--;
    ring->bytes -= ring->packet[at].len;
    ring->packet[at].len = 0;                      /* and free its buffer */
}

int main(void) {
    static uint64_t block[512];
    static struct ring ring;
    fairdrop_params params;
    fairdrop_error error;
    fairdrop_host host = {0};
    fairdrop_ring view = {0};
    fairdrop_decided decided;
    unsigned long admitted = 0, refused = 0, victims = 0;
    fairdrop_params_init(&params, "choke", 100000000, &error);   /* a link of 100 Mb/s */
    fairdrop_params_set(&params, "limit", "100p", &error);
    fairdrop_params_set(&params, "min_th", "20p", &error);
    fairdrop_params_set(&params, "max_th", "60p", &error);
    host.seed = 1;                                 /* random where packets of others are forwarded */
    fairdrop_decision *choke = fairdrop_decision_init(block, sizeof block, &params, &host, &error);
    if (!choke) return fprintf(stderr, "%s\n", error.message), 1;
    view.context = &ring;
    view.packet = packet_at;
    /* Two packets arrive for each that leaves; every second one belongs to flow 0. */
    for (uint64_t count = 0; count < 25000; count++) {
        fairdrop_packet packet = {0};
        packet.flow = count % 2 ? count / 2 % 9 + 1 : 0;
        packet.len = 1000;
        view.slots = ring.tail - ring.head;
        view.packets = ring.packets;
        view.bytes = ring.bytes;
        if (fairdrop_decide(choke, &packet, &view, count * 40000, &decided) < 0) return 1;
        for (size_t at = 0; at < decided.victims; at++, victims++)
            drop_at(&ring, (ring.head + decided.victim[at].slot) % SLOTS);
        if (decided.action == FAIRDROP_ACTION_DROP || ring.tail - ring.head == SLOTS) {
            refused++;
        } else {
            uint32_t at = ring.tail++ % SLOTS;
            ring.packet[at].flow = packet.flow;
            ring.packet[at].len = packet.len;
            ring.packets++;
            ring.bytes += packet.len;
            admitted++;
        }
        while (ring.head != ring.tail && !ring.packet[ring.head % SLOTS].len) ring.head++;
        if (count % 2 && ring.head != ring.tail) drop_at(&ring, ring.head++ % SLOTS);   /* sent */
    }
    printf("%lu admitted, %lu refused, %lu dropped while they waited\n", admitted, refused, victims);
    return 0;
}
