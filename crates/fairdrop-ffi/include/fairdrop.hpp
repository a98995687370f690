// fairdrop in C++17: queues that own their memory and move, and errors as exceptions. All of it is in this header, over
// fairdrop.h; link with libfairdrop as from C. Licence: MIT or Apache-2.0.
//
//     fairdrop::Params params("choke", 100'000'000);                     // a link of 100 Mb/s
//     params.set("limit", "100p").set("red.min_th", 20).set("red.max_th", 60);
//     fairdrop::Queue queue(params, [](const fairdrop::Packet &packet, fairdrop::Cause) { release(packet.cookie); });
//
//     queue.enqueue(packet, now_ns);
//     while (transmitter_is_free()) {
//         if (std::optional<fairdrop::Packet> next = queue.dequeue(now_ns)) transmit(*next);
//     }
//
// The rules of fairdrop.h hold: calls of one queue must not overlap, callbacks must not call their queue, and time does not
// run backwards. A callback that throws ends the program, since exceptions must not pass through the library.
#ifndef FAIRDROP_HPP
#define FAIRDROP_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "fairdrop.h"

namespace fairdrop {

using Packet = fairdrop_packet;
using Hosts = fairdrop_hosts;
using Cause = fairdrop_cause;
using Stream = fairdrop_stream;
using Status = fairdrop_status;
using Count = fairdrop_count;
using Counters = fairdrop_counters;

// What a call of the library refused, with its reason: `limit = "0p" is not valid: ...`.
class Error : public std::runtime_error {
public:
    Error(Status status, const std::string &message, std::string parameter = {})
        : std::runtime_error(message), status_(status), parameter_(std::move(parameter)) {}

    explicit Error(const fairdrop_error &error) : Error(error.status, error.message, error.parameter) {}

    [[nodiscard]] Status status() const noexcept { return status_; }

    // The parameter concerned; empty when it is none.
    [[nodiscard]] const std::string &parameter() const noexcept { return parameter_; }

private:
    Status status_;
    std::string parameter_;
};

namespace detail {

inline void check(Status status, const fairdrop_error &error) {
    if (status < 0) throw Error(error);
}

inline Status check(Status status, const char *call) {
    switch (status) {
    case FAIRDROP_STATUS_OK:
    case FAIRDROP_STATUS_NONE: return status;
    case FAIRDROP_STATUS_BAD_ARGUMENT:
        throw Error(status, std::string(call) + ": an argument is not valid; valid: ecn from 0 to 3, len up to FAIRDROP_MAX_LEN");
    case FAIRDROP_STATUS_REENTERED:
        throw Error(status, std::string(call) + " was called by a callback of the queue; valid: after the call returns");
    case FAIRDROP_STATUS_NOT_READY: throw Error(status, std::string(call) + ": there is no queue; valid: one that was not moved from");
    default: throw Error(status, std::string(call) + " failed");
    }
}

// A header and a shared library that do not belong together would misread each other's structures.
inline void check_version() {
    if (fairdrop_abi_version() != FAIRDROP_ABI_VERSION) {
        throw Error(FAIRDROP_STATUS_NOT_READY, "the library has interface " + std::to_string(fairdrop_abi_version()) +
                                                   "; valid: " + std::to_string(FAIRDROP_ABI_VERSION) + ", as fairdrop.h");
    }
}

} // namespace detail

// The parameters of a discipline; names, units and defaults are those of `fairdrop list`.
class Params {
public:
    // The defaults of a discipline for a link of `link_bps` bit/s.
    Params(const std::string &discipline, std::uint64_t link_bps) {
        detail::check_version();
        fairdrop_error error{};
        detail::check(fairdrop_params_init(&params_, discipline.c_str(), link_bps, &error), error);
    }

    // As text: "300p", "5ms", "true", "uniform", "[1, 2, 4]".
    Params &set(const std::string &name, const std::string &value) {
        fairdrop_error error{};
        detail::check(fairdrop_params_set(&params_, name.c_str(), value.c_str(), &error), error);
        return *this;
    }

    Params &set(const std::string &name, const char *value) { return set(name, std::string(value)); }

    // A switch, or a number in the unit of the catalogue: packets, bytes, seconds.
    template <typename Number, typename = std::enable_if_t<std::is_arithmetic_v<Number>>>
    Params &set(const std::string &name, Number value) {
        fairdrop_error error{};
        if constexpr (std::is_same_v<Number, bool>) {
            detail::check(fairdrop_params_set_switch(&params_, name.c_str(), value, &error), error);
        } else {
            detail::check(fairdrop_params_set_number(&params_, name.c_str(), static_cast<double>(value), &error), error);
        }
        return *this;
    }

    Params &set(const std::string &name, std::initializer_list<double> numbers) {
        fairdrop_error error{};
        detail::check(fairdrop_params_set_list(&params_, name.c_str(), numbers.begin(), numbers.size(), &error), error);
        return *this;
    }

    // Bytes that a queue with these parameters needs. Throws when they do not go together.
    [[nodiscard]] std::size_t size() const {
        fairdrop_error error{};
        const std::size_t bytes = fairdrop_size(&params_, &error);
        if (bytes == 0) throw Error(error);
        return bytes;
    }

    [[nodiscard]] const fairdrop_params &c() const noexcept { return params_; }

private:
    fairdrop_params params_{};
};

// The key of the hashes that find flows: 128 bits that nobody outside may know.
using FlowKey = std::array<std::uint64_t, 2>;

// A key from the system's random source.
inline FlowKey random_flow_key() {
    std::random_device source;
    const auto word = [&source] { return static_cast<std::uint64_t>(source()) << 32U | static_cast<std::uint32_t>(source()); };
    return {word(), word()};
}

// What a queue asks of its owner. `dropped` is required, and frees the buffer of a packet.
struct Callbacks {
    std::function<void(const Packet &packet, Cause cause)> dropped;
    // Sees each candidate before it is compared.
    std::function<void(const Packet &candidate)> drawn;
    // 64 random bits of a stream, in place of the library's generator.
    std::function<std::uint64_t(Stream stream)> random;
    // The hosts at the ends of a packet, for disciplines that share among hosts.
    std::function<Hosts(const Packet &packet)> hosts;
};

// What a queue starts from. The same seed, number and key give the same decisions.
struct Start {
    std::uint64_t seed = random_flow_key()[0];
    std::uint32_t queue = 0;
    FlowKey flow_key = random_flow_key();
};

// A queue with its memory. It moves and is not copied; what waits when it ends is not given back.
class Queue {
public:
    Queue(const Params &params, Callbacks callbacks, const Start &start = Start())
        : callbacks_(std::make_unique<Callbacks>(std::move(callbacks))) {
        if (!callbacks_->dropped) throw Error(FAIRDROP_STATUS_BAD_ARGUMENT, "dropped is empty; valid: a function that frees a packet");
        const std::size_t size = params.size();
        static_assert(alignof(std::uint64_t) % FAIRDROP_ALIGN == 0);
        block_ = std::make_unique<std::uint64_t[]>((size + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
        fairdrop_host host{};
        host.context = callbacks_.get();
        host.dropped = [](void *context, const Packet *packet, Cause cause) noexcept { of(context).dropped(*packet, cause); };
        if (callbacks_->drawn) host.drawn = [](void *context, const Packet *packet) noexcept { of(context).drawn(*packet); };
        if (callbacks_->random) host.random = [](void *context, Stream stream) noexcept { return of(context).random(stream); };
        if (callbacks_->hosts) {
            host.hosts = [](void *context, const Packet *packet, Hosts *hosts) noexcept { *hosts = of(context).hosts(*packet); };
        }
        host.flow_key = start.flow_key.data();
        host.seed = start.seed;
        host.queue = start.queue;
        fairdrop_error error{};
        queue_ = fairdrop_init(block_.get(), size, &params.c(), &host, &error);
        if (queue_ == nullptr) throw Error(error);
    }

    // For queues that need no more than to free what is dropped.
    template <typename Dropped, typename = std::enable_if_t<std::is_invocable_v<Dropped, const Packet &, Cause>>>
    Queue(const Params &params, Dropped dropped, const Start &start = Start())
        : Queue(params, Callbacks{std::move(dropped), {}, {}, {}}, start) {}

    Queue(const Queue &) = delete;
    Queue &operator=(const Queue &) = delete;

    Queue(Queue &&other) noexcept
        : callbacks_(std::move(other.callbacks_)), block_(std::move(other.block_)), queue_(std::exchange(other.queue_, nullptr)) {}

    Queue &operator=(Queue &&other) noexcept {
        callbacks_ = std::move(other.callbacks_);
        block_ = std::move(other.block_);
        queue_ = std::exchange(other.queue_, nullptr);
        return *this;
    }

    ~Queue() = default;

    // A packet arrives; each drop that follows is a call of `dropped`.
    void enqueue(const Packet &packet, std::uint64_t now_ns) { detail::check(fairdrop_enqueue(c(), &packet, now_ns), "enqueue"); }

    // The packet to transmit next, if any. Call it when the transmitter is free, even when nothing waits.
    [[nodiscard]] std::optional<Packet> dequeue(std::uint64_t now_ns) {
        Packet packet{};
        if (detail::check(fairdrop_dequeue(c(), now_ns, &packet), "dequeue") == FAIRDROP_STATUS_NONE) return std::nullopt;
        return packet;
    }

    // What `dequeue` would give now, without taking it.
    [[nodiscard]] std::optional<Packet> peek(std::uint64_t now_ns) {
        Packet packet{};
        if (detail::check(fairdrop_peek(c(), now_ns, &packet), "peek") == FAIRDROP_STATUS_NONE) return std::nullopt;
        return packet;
    }

    // Other parameters of the same discipline while packets wait, which stay. Throws, with nothing changed, where the discipline takes
    // its parameters once or these are not valid for this queue.
    void change(const Params &params) {
        fairdrop_error error{};
        if (fairdrop_change(c(), &params.c(), &error) != FAIRDROP_STATUS_OK) throw Error(error);
    }

    // When to call `tick`, if ever.
    [[nodiscard]] std::optional<std::uint64_t> deadline() const {
        std::uint64_t when = 0;
        if (detail::check(fairdrop_deadline(c(), &when), "deadline") == FAIRDROP_STATUS_NONE) return std::nullopt;
        return when;
    }

    // The deadline has come.
    void tick(std::uint64_t now_ns) { detail::check(fairdrop_tick(c(), now_ns), "tick"); }

    // What waits.
    [[nodiscard]] Count backlog() const {
        Count count{};
        detail::check(fairdrop_backlog(c(), &count), "backlog");
        return count;
    }

    // Counters since the queue was made.
    [[nodiscard]] Counters counters() const {
        Counters counters{};
        detail::check(fairdrop_stats(c(), &counters), "counters");
        return counters;
    }

    // Packets dropped for a cause.
    [[nodiscard]] Count dropped(Cause cause) const {
        Count count{};
        detail::check(fairdrop_dropped(c(), static_cast<std::uint8_t>(cause), &count), "dropped");
        return count;
    }

    // The average queue in packets, where the discipline keeps one.
    [[nodiscard]] std::optional<double> average() const {
        double packets = 0;
        if (detail::check(fairdrop_average(c(), &packets), "average") == FAIRDROP_STATUS_NONE) return std::nullopt;
        return packets;
    }

    // The queue for calls of fairdrop.h. Throws after it was moved from.
    [[nodiscard]] fairdrop_queue *c() const {
        if (queue_ == nullptr) detail::check(FAIRDROP_STATUS_NOT_READY, "a call");
        return queue_;
    }

private:
    static Callbacks &of(void *context) noexcept { return *static_cast<Callbacks *>(context); }

    // Where the library finds them, so that a queue may move.
    std::unique_ptr<Callbacks> callbacks_;
    std::unique_ptr<std::uint64_t[]> block_;
    fairdrop_queue *queue_ = nullptr;
};

// Names of all disciplines.
inline std::vector<std::string> disciplines() {
    std::vector<std::string> names;
    fairdrop_discipline described{};
    for (std::size_t index = 0; fairdrop_discipline_at(index, &described) == FAIRDROP_STATUS_OK; ++index) names.emplace_back(described.name);
    return names;
}

// Name of a cause in tables and documents.
inline std::string_view name_of(Cause cause) {
    const char *name = fairdrop_cause_name(static_cast<std::uint8_t>(cause));
    return name == nullptr ? std::string_view() : std::string_view(name);
}

// SipHash-2-4 under a secret key: makes the flow of a packet's addresses, protocol and ports.
inline std::uint64_t flow_of(const FlowKey &key, std::string_view bytes) {
    return fairdrop_hash(key[0], key[1], reinterpret_cast<const std::uint8_t *>(bytes.data()), bytes.size());
}

} // namespace fairdrop

#endif // FAIRDROP_HPP
