// fairdrop.hpp: queues move and keep their callbacks, errors name what is wrong, and all disciplines keep their packets.
#include <cstdlib>
#include <iostream>
#include <type_traits>
#include <vector>

#include <fairdrop.hpp>

static_assert(!std::is_copy_constructible_v<fairdrop::Queue> && !std::is_copy_assignable_v<fairdrop::Queue>);
static_assert(std::is_nothrow_move_constructible_v<fairdrop::Queue> && std::is_nothrow_move_assignable_v<fairdrop::Queue>);

static void check(bool holds, const char *what) {
    if (holds) return;
    std::cerr << "wrapper: " << what << '\n';
    std::exit(1);
}

template <typename Call> static void refuses(Call call, fairdrop::Status status, const std::string &parameter, const char *message) {
    try {
        call();
    } catch (const fairdrop::Error &error) {
        std::cout << error.what() << '\n';
        check(error.status() == status && error.parameter() == parameter, "another error");
        check(std::string(error.what()).find(message) != std::string::npos, message);
        return;
    }
    check(false, message);
}

static fairdrop::Packet packet_of(std::uint64_t flow, std::uint64_t cookie) {
    fairdrop::Packet packet{};
    packet.flow = flow;
    packet.cookie = cookie;
    packet.len = 1000;
    return packet;
}

static void every_discipline_keeps_its_packets_while_it_moves() {
    for (const std::string &name : fairdrop::disciplines()) {
        fairdrop::Params params(name, 10'000'000);
        params.set("limit", 20);
        std::uint64_t dropped = 0, departed = 0, drawn = 0, asked = 0;
        fairdrop::Callbacks callbacks;
        callbacks.dropped = [&dropped](const fairdrop::Packet &, fairdrop::Cause cause) {
            check(!fairdrop::name_of(cause).empty(), "a cause has a name");
            ++dropped;
        };
        callbacks.drawn = [&drawn](const fairdrop::Packet &) { ++drawn; };
        callbacks.hosts = [&asked](const fairdrop::Packet &packet) { ++asked; return fairdrop::Hosts{packet.flow % 3, 7}; };
        std::vector<fairdrop::Queue> queues;
        queues.emplace_back(params, callbacks);
        for (std::uint64_t cookie = 0; cookie < 500; ++cookie) {
            const std::uint64_t now_ns = cookie * 400'000;
            if (cookie % 100 == 99) {
                // The vector gets another place, and the queue with it.
                queues.emplace_back(params, [](const fairdrop::Packet &, fairdrop::Cause) {});
                std::swap(queues.front(), queues.back());
                std::swap(queues.front(), queues.back());
            }
            fairdrop::Queue &queue = queues.front();
            if (const auto when = queue.deadline(); when && *when <= now_ns) queue.tick(now_ns);
            queue.enqueue(packet_of(cookie % 5, cookie), now_ns);
            if (cookie % 2 == 0 && queue.dequeue(now_ns)) ++departed;
        }
        const fairdrop::Queue queue = std::move(queues.front());
        const fairdrop::Counters counters = queue.counters();
        check(counters.arrived.packets == 500 && counters.dropped.packets == dropped, "drops are counted");
        check(counters.departed.packets == departed && departed + dropped + queue.backlog().packets == 500, "packets are kept");
        check(counters.drawn == drawn, "draws are counted");
        check(asked == 0 || name == "cake" || name == "collar_hosts", "hosts are asked for where they matter");
        refuses([&queues] { (void)queues.front().backlog(); }, FAIRDROP_STATUS_NOT_READY, "", "moved from");
    }
}

static void a_host_may_have_random_numbers_of_its_own() {
    std::uint64_t state = 1, drawn = 0;
    fairdrop::Callbacks callbacks;
    callbacks.dropped = [](const fairdrop::Packet &, fairdrop::Cause) {};
    callbacks.random = [&](fairdrop::Stream) { ++drawn; return state = state * 6364136223846793005U + 1442695040888963407U; };
    fairdrop::Params params("choke", 10'000'000);
    params.set("limit", 50).set("min_th", 2).set("max_th", 40).set("w_q", 1.0).set("gentle", true);
    fairdrop::Queue queue(params, callbacks);
    for (std::uint64_t cookie = 0; cookie < 100; ++cookie) queue.enqueue(packet_of(cookie, cookie), 0);
    check(drawn > 0 && queue.average().value_or(0) > 2, "CHOKe draws, and has an average");
    check(queue.dropped(FAIRDROP_CAUSE_OVERFLOW).packets <= 100, "causes have counts");
}

static void what_is_wrong_is_named() {
    const auto nothing = [](const fairdrop::Packet &, fairdrop::Cause) {};
    refuses([] { fairdrop::Params("chock", 1); }, FAIRDROP_STATUS_UNKNOWN_DISCIPLINE, "", "there is no discipline \"chock\"");
    fairdrop::Params params("choke", 1'000'000);
    refuses([&] { params.set("tea", 1); }, FAIRDROP_STATUS_UNKNOWN_PARAMETER, "tea", "has no parameter \"tea\"");
    refuses([&] { params.set("limit", "none"); }, FAIRDROP_STATUS_BAD_VALUE, "limit", "limit = \"none\" is not valid");
    refuses([&] { params.set("limit", {1.0, 2.0}); }, FAIRDROP_STATUS_BAD_VALUE, "limit", "is not valid");
    params.set("min_th", 30).set("max_th", 20);
    refuses([&] { (void)fairdrop::Queue(params, nothing); }, FAIRDROP_STATUS_BAD_VALUE, "max_th", "max_th = 20 is not valid");
    params.set("max_th", 90);
    refuses([&] { (void)fairdrop::Queue(params, fairdrop::Callbacks()); }, FAIRDROP_STATUS_BAD_ARGUMENT, "", "dropped is empty");
    fairdrop::Queue queue(params, nothing);
    fairdrop::Packet packet = packet_of(1, 1);
    packet.ecn = 4;
    refuses([&] { queue.enqueue(packet, 0); }, FAIRDROP_STATUS_BAD_ARGUMENT, "", "ecn from 0 to 3");
    fairdrop::Params small("droptail", 1'000'000);
    small.set("limit", 1);
    fairdrop::Queue *self = nullptr;
    unsigned refused = 0;
    fairdrop::Queue calls_itself(small, [&](const fairdrop::Packet &, fairdrop::Cause) {
        refuses([&] { (void)self->dequeue(0); }, FAIRDROP_STATUS_REENTERED, "", "called by a callback");
        ++refused;
    });
    self = &calls_itself;
    calls_itself.enqueue(packet_of(1, 1), 0);
    calls_itself.enqueue(packet_of(1, 2), 0);
    check(refused == 1, "a callback must not call its queue");
}

int main() {
    every_discipline_keeps_its_packets_while_it_moves();
    a_host_may_have_random_numbers_of_its_own();
    what_is_wrong_is_named();
    // The first two of the vectors of the SipHash paper.
    const fairdrop::FlowKey key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
    check(fairdrop::flow_of(key, "") == 0x726fdb47dd0e0e31, "the hash of nothing");
    check(fairdrop::flow_of(key, std::string_view("\0", 1)) == 0x74f839c593dc67fd, "the hash of a zero");
}
