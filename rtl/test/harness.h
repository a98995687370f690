// What the programs with random packets share: random numbers, the end at a difference, and lists as the vectors have them.
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <initializer_list>
#include <string>

[[noreturn]] inline void fail(const std::string &what) {
    std::fprintf(stderr, "not equal: %s\n", what.c_str());
    std::exit(1);
}

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
struct Random {
    uint64_t state;
    uint64_t next() {
        uint64_t z = state += 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return z ^ z >> 31;
    }
    uint32_t below(uint32_t bound) { return static_cast<uint32_t>((next() >> 32) * bound >> 32); }
    bool chance(uint32_t percent) { return below(100) < percent; }
    template <typename T> T of(std::initializer_list<T> values) { return values.begin()[below(values.size())]; }
};

// Random numbers of one stream.
inline std::string hex_list(const std::deque<uint64_t> &numbers) {
    std::string text;
    for (const uint64_t number : numbers) {
        char digits[24];
        std::snprintf(digits, sizeof digits, "\"%016" PRIx64 "\"", number);
        text += (text.empty() ? "" : ", ") + std::string(digits);
    }
    return "[" + text + "]";
}
