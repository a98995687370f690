// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Random numbers of a queue: ns-2's own, or those that fairdrop draws for the same seed, so that runs can be compared
// packet by packet.
//
// Philox4x32-10 is from J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011;
// whole numbers below a bound are from D. Lemire, "Fast random integer generation in an interval", ACM TOMACS 29(1), 2019.

#ifndef FAIRDROP_NS2_NUMBERS_H
#define FAIRDROP_NS2_NUMBERS_H

#include <cstdint>

#include "random.h"

namespace fairdrop {

// What a number is drawn for; each purpose has a stream of its own.
enum Purpose { CANDIDATE = 0, EARLY_DROP = 1, DRAWING_FRACTION = 2, WARD_WEIGHT = 3, PURPOSES = 4 };

class Philox {
public:
	Philox(uint64_t seed, uint32_t queue, uint32_t purpose)
		: key_{uint32_t(seed), uint32_t(seed >> 32)}, name_{queue, purpose}, block_(0), kept_(false), second_(0) {}

	uint64_t next() {
		if (kept_) {
			kept_ = false;
			return second_;
		}
		uint32_t x[4] = {uint32_t(block_), uint32_t(block_ >> 32), name_[0], name_[1]};
		uint32_t key[2] = {key_[0], key_[1]};
		for (int round = 0; round < 10; ++round) {
			const uint64_t p = uint64_t(0xD2511F53u) * x[0];
			const uint64_t q = uint64_t(0xCD9E8D57u) * x[2];
			x[0] = uint32_t(q >> 32) ^ x[1] ^ key[0];
			x[1] = uint32_t(q);
			x[2] = uint32_t(p >> 32) ^ x[3] ^ key[1];
			x[3] = uint32_t(p);
			key[0] += 0x9E3779B9u;
			key[1] += 0xBB67AE85u;
		}
		++block_;
		kept_ = true;
		second_ = x[2] | uint64_t(x[3]) << 32;
		return x[0] | uint64_t(x[1]) << 32;
	}

private:
	uint32_t key_[2], name_[2];
	uint64_t block_;
	bool kept_;
	uint64_t second_;
};

class Numbers {
public:
	// From a seed above 0: fairdrop's, as its first queue has them. Otherwise ns-2's.
	explicit Numbers(uint64_t seed = 0)
		: shared_(seed > 0),
		  streams_{{seed, 0, CANDIDATE}, {seed, 0, EARLY_DROP}, {seed, 0, DRAWING_FRACTION}, {seed, 0, WARD_WEIGHT}} {}

	bool shared() const { return shared_; }

	// Uniform on [0, 1).
	double unit(Purpose purpose) {
		return shared_ ? double(streams_[purpose].next() >> 11) / 9007199254740992.0 : Random::uniform();
	}

	// Uniform on 0 ... bound - 1.
	uint64_t below(uint64_t bound, Purpose purpose) {
		if (!shared_)
			return Random::integer(int(bound));
		const uint64_t refused = (0 - bound) % bound;
		for (;;) {
			const unsigned __int128 wide = (unsigned __int128)streams_[purpose].next() * bound;
			if (uint64_t(wide) >= refused)
				return uint64_t(wide >> 64);
		}
	}

private:
	bool shared_;
	Philox streams_[PURPOSES];
};

} // namespace fairdrop

#endif
