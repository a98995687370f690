// Properties of COLLAR's core, checked at every clock against a second account of what its memories hold. Included by fairdrop_collar
// where FAIRDROP_PROPERTIES is defined; not synthesized.
//
// An id is put in the next place of the memory and each block holds as many as the core assumes; a flow is one suspect at most, and one
// with a count is never replaced by one with less; a decision is counted once; no divisor is 0; state stays in its ranges.

localparam PLACES = 1 << (SETS_BITS + 3), BLOCKS = 1 << (IDS_BITS - 5);
logic [PLACES-1:0][63:0] p_table;
logic [BLOCKS-1:0][7:0] p_filled;
logic [31:0] p_waiting, p_samples, p_arrived, p_decided;

always_ff @(posedge clk) begin
    if (rst) begin
        {p_table, p_filled, p_waiting, p_samples, p_arrived, p_decided} <= '0;
    end else begin
        if (table_write && state != CLEAR) p_table[table_write_at] <= table_word;
        if (state == DIVIDE) assert (divisor != 64'b0) else $error("a division by 0 for state %0d", after);

        // Packets.
        if (s_axis_arrival_tvalid && s_axis_arrival_tready) p_arrived <= p_arrived + 1;
        if (s_axis_departure_tvalid && s_axis_departure_tready && state == IDLE) begin
            assert (p_waiting != 0) else $error("a departure from an empty queue");
            p_waiting <= p_waiting - 1;
        end
        if (m_axis_decision_tvalid && m_axis_decision_tready) begin
            p_decided <= p_decided + 1;
            assert (waiting_packets <= buffer_limit) else $error("%0d packets in a buffer of %0d", waiting_packets, buffer_limit);
            if (m_axis_decision_tdata[1:0] != DROP) p_waiting <= p_waiting + 1;
        end
        if (state == IDLE) begin
            assert (waiting_packets == p_waiting) else $error("%0d packets wait, %0d were accepted", waiting_packets, p_waiting);
            assert (p_arrived == p_decided) else $error("%0d arrivals, %0d decisions", p_arrived, p_decided);
        end

        // The memory.
        if (state == D_REMEMBER) begin
            assert (next_block < ids_blocks) else $error("block %0d of %0d", next_block, ids_blocks);
            if (p_filled[next_block] != 8'd32) p_filled[next_block] <= p_filled[next_block] + 1'b1;
            p_samples <= p_samples + 1;
        end
        if (state == O_COMPARE) begin
            assert (block < ids_blocks) else $error("block %0d of %0d is compared", block, ids_blocks);
            assert (c == p_filled[block]) else $error("%0d ids in a block of %0d", c, p_filled[block]);
        end
        if (state == D_COMPARE)
            assert (c == p_filled[block & ~3] + p_filled[block & ~3 | 1] + p_filled[block & ~3 | 2] + p_filled[block & ~3 | 3])
                else $error("%0d ids in four blocks from %0d", c, block);
        if (state == O_JUDGE || state == D_GAP) assert (k <= c) else $error("%0d of %0d ids are equal", k, c);

        // Suspects.
        if (state == A_LOOK || state == D_LEAST) assert (set < sets) else $error("set %0d of %0d", set, sets);
        if (state == D_ENTER && !found && least < assumed)
            assert (p_table[{set, least_way}][63:24] == least) else $error("suspect %0d is replaced, not the least", least_way);
        if (state == IDLE)
            for (int way_a = 0; way_a < 8; way_a++)
                for (int way_b = 0; way_b < way_a; way_b++)
                    assert (p_table[{set, way_a[2:0]}][63:24] == 0 || p_table[{set, way_b[2:0]}][63:24] == 0
                            || p_table[{set, way_a[2:0]}][23:0] != p_table[{set, way_b[2:0]}][23:0])
                        else $error("a flow is suspect %0d and %0d of set %0d", way_a, way_b, set);

        // Ranges, as the page of COLLAR in integers has them.
        if (state == IDLE) begin
            assert (weight[32:31] == 2'b01) else $error("weight %0d", weight);
            assert (quick >= 48'd1 << 33 && quick <= 48'd1 << 47 && steady >= 48'd1 << 33 && steady <= 48'd1 << 47)
                else $error("averages %0d and %0d", quick, steady);
            assert (root <= ROOT_MOST) else $error("root %0d", root);
            assert (widened >= Q16 && widened <= 23'd1 << 22) else $error("widened %0d", widened);
            assert (root == 0 || widened == Q16) else $error("root %0d while the limit is %0d wide", root, widened);
            assert (sent >= 16 && match_count <= 2_032 && base <= 31'd1 << 30 && limit != 0);
            assert (by_share <= 39'd1 << 38 && phi >= Q16 && wide == widened || p_samples == 0)
                else $error("by_share %0d, phi %0d, wide %0d of %0d", by_share, phi, wide, widened);
        end
    end
end
