package fairdrop_test

import (
	"fmt"
	"time"

	"fairdrop.invalid/fairdrop"
)

func Example() {
	freed := 0
	queue, err := fairdrop.New("choke", fairdrop.Config{
		LinkBPS: 100_000_000,
		Params:  map[string]string{"limit": "100p", "red.min_th": "20p", "red.max_th": "60p"},
		Seed:    1, // the same numbers in each run; the key of flows is random
		Dropped: func(fairdrop.Packet, fairdrop.Cause) { freed++ },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer queue.Close()
	// Two packets arrive for each that leaves; every second one belongs to flow 0.
	for now := time.Duration(0); now < time.Second; now += 80 * time.Microsecond {
		for _, flow := range []uint64{0, 1 + uint64(now/80_000)%9} {
			if err := queue.Enqueue(fairdrop.Packet{Flow: flow, Len: 1000}, now); err != nil {
				fmt.Println(err)
				return
			}
		}
		if _, ok, err := queue.Dequeue(now); ok && err == nil {
			// Transmit what the packet's Cookie stands for, with its ECN in the header.
		}
	}
	counters, _ := queue.Counters()
	fmt.Println(counters.Arrived.Packets, "arrived,", counters.Departed.Packets, "departed,", freed, "dropped")
	// Output: 25000 arrived, 12500 departed, 12462 dropped
}
