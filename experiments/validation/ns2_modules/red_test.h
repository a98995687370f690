// SPDX-License-Identifier: MIT OR Apache-2.0
//
// RED's average and early drops with the arithmetic of ns-2's RED: S. Floyd, V. Jacobson, "Random early detection gateways
// for congestion avoidance", IEEE/ACM ToN 1(4), 1993, and what ns-2 does beside it: the first packet over the lower threshold
// passes, and so does one that finds at most one other waiting.

#ifndef FAIRDROP_NS2_RED_TEST_H
#define FAIRDROP_NS2_RED_TEST_H

#include "numbers.h"
#include "scheduler.h"

namespace fairdrop {

// Thresholds are in packets, `packets_per_s` is the link's rate in packets of mean size.
struct RedSettings {
	double thresh, maxthresh, max_p, weight, packets_per_s;
	int gentle, wait, independent;
};

class RedTest {
public:
	explicit RedTest(const RedSettings &settings)
		: set_(settings), average_(0.0), count_(0), over_(false), idle_(true), idle_since_(0.0) {}

	double average() const { return average_; }
	bool over_thresh() const { return average_ >= set_.thresh; }

	// Each arrival moves the average; those that an idle link missed count as arrivals to an empty queue.
	void arrival(int waiting) {
		if (idle_) {
			idle_ = false;
			for (int missed = int(set_.packets_per_s * (now() - idle_since_)); missed > 0; --missed)
				average_ *= 1.0 - set_.weight;
		}
		average_ *= 1.0 - set_.weight;
		average_ += set_.weight * waiting;
	}

	void link_idle() {
		idle_ = true;
		idle_since_ = now();
	}

	// An arrival that RED itself does not see.
	void count() { ++count_; }

	const char *decide(int waiting, int limit, Numbers &numbers) {
		const char *outcome = "queued";
		++count_;
		if (over_thresh() && waiting > 1) {
			// A forced drop leaves the pass to the next packet that would meet the random test.
			if (average_ >= (set_.gentle ? 2 : 1) * set_.maxthresh) {
				outcome = "red_forced";
			} else if (!over_) {
				over_ = true;
				count_ = 1;
			} else if (numbers.unit(EARLY_DROP) <= spaced(probability())) {
				outcome = "red_early";
			}
		} else {
			over_ = false;
		}
		if (outcome[0] == 'q' && waiting >= limit)
			outcome = "overflow";
		if (outcome[0] != 'q')
			count_ = 0;
		return outcome;
	}

private:
	static double now() { return Scheduler::instance().clock(); }

	double probability() const {
		if (average_ >= set_.maxthresh)
			return (1.0 - set_.max_p) / set_.maxthresh * average_ + 2.0 * set_.max_p - 1.0;
		const double range = set_.maxthresh - set_.thresh;
		return (average_ / range - set_.thresh / range) * set_.max_p;
	}

	double spaced(double p) const {
		if (set_.independent)
			return p;
		const double progress = count_ * p;
		const double from = set_.wait ? 1.0 : 0.0;
		if (progress < from)
			return 0.0;
		return progress < from + 1.0 ? p / (from + 1.0 - progress) : 1.0;
	}

	RedSettings set_;
	double average_;
	int count_;
	bool over_, idle_;
	double idle_since_;
};

} // namespace fairdrop

#endif
