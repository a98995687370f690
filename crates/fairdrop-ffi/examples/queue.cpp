#include <cstdint>
#include <iostream>
#include <fairdrop.hpp>

int main() {
    try {
        fairdrop::Params params("choke", 100'000'000);             // a link of 100 Mb/s
        params.set("limit", "100p").set("red.min_th", 20).set("red.max_th", 60);
        unsigned long freed = 0;
        fairdrop::Start start;                                     // key and seed are random
        start.seed = 1;                                            // the same numbers in each run
        fairdrop::Queue queue(params, [&freed](const fairdrop::Packet &, fairdrop::Cause) { ++freed; }, start);
        // Two packets arrive for each that leaves; every second one belongs to flow 0.
        for (std::uint64_t now_ns = 0; now_ns < 1'000'000'000; now_ns += 80'000) {
            fairdrop::Packet packet{};
            packet.len = 1000;
            queue.enqueue(packet, now_ns);
            packet.flow = 1 + now_ns / 80'000 % 9;
            queue.enqueue(packet, now_ns);
            if (auto next = queue.dequeue(now_ns)) {
                // transmit what next->cookie stands for, with next->ecn in its header
            }
        }
        const auto counters = queue.counters();
        std::cout << counters.arrived.packets << " arrived, " << counters.departed.packets << " departed, " << freed
                  << " dropped\n";
    } catch (const fairdrop::Error &error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
