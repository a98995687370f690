// COLLAR in integers: docs/reference/disciplines/collar-integer.md, whose names these are. The packets wait elsewhere: the core counts
// them, decides on arrivals, and learns from departures: the queue's owner gives the id, length and waiting time of each. An id is
// 32 bits of a keyed hash of the flow.
//
// One multiplier, that of RED, and one divider take turns: a product of 64 bits takes 8 clocks, a quotient 66. A place of the table
// and an id of the memory are read each clock. The controller works when its period has ended, also between packets.
module fairdrop_collar #(
    // The memory has 2^IDS_BITS places, the table 2^SETS_BITS sets; the parameters may ask for fewer.
    parameter IDS_BITS = 8,
    parameter SETS_BITS = 4
) (
    input  logic        clk,
    input  logic        rst,
    input  logic [63:0] now_ns,
    input  logic [23:0] buffer_limit,
    input  logic [31:0] target,
    input  logic [31:0] span,
    input  logic [63:0] per_span,
    input  logic [16:0] share,
    input  logic [16:0] loosest,
    input  logic [16:0] ids,
    input  logic [16:0] sets,
    input  logic        ecn,
    // Id 31:0, length in bytes 47:32, ECN 49:48.
    input  logic [63:0] s_axis_arrival_tdata,
    input  logic        s_axis_arrival_tvalid,
    output logic        s_axis_arrival_tready,
    // Of the packet that leaves: id 31:0, length in bytes 47:32, waiting time in ns 95:64.
    input  logic [95:0] s_axis_departure_tdata,
    input  logic        s_axis_departure_tvalid,
    output logic        s_axis_departure_tready,
    input  logic [63:0] s_axis_candidate_tdata,
    input  logic        s_axis_candidate_tvalid,
    output logic        s_axis_candidate_tready,
    input  logic [63:0] s_axis_filter_tdata,
    input  logic        s_axis_filter_tvalid,
    output logic        s_axis_filter_tready,
    input  logic [63:0] s_axis_pie_tdata,
    input  logic        s_axis_pie_tvalid,
    output logic        s_axis_pie_tready,
    // Action 1:0 (0 queue, 1 mark and queue, 2 drop), cause 4:2 (0 overflow, 1 filter, 2 memory, 3 pie).
    output logic [31:0] m_axis_decision_tdata,
    output logic        m_axis_decision_tvalid,
    input  logic        m_axis_decision_tready,
    output logic [9:0]  events,
    output logic [23:0] waiting_packets,
    output logic [39:0] root,
    output logic [31:0] s,
    output logic [22:0] widened
);
    localparam [63:0] PERIOD = 16_000_000, SLACK_MOST = 91_750, Q16 = 65_536, NS_MOST = 64'hffff_ffff;
    localparam [63:0] ROOT_MOST = 64'd1 << 39, COUNT_MOST = (64'd1 << 40) - 1, SENT_MOST = (64'd1 << 39) - 1;
    localparam [1:0] QUEUE = 0, MARK = 1, DROP = 2;
    localparam [2:0] OVERFLOW = 0, FILTER = 1, MEMORY = 2, PIE = 3;
    localparam E_ARRIVED = 0, E_DEPARTED = 1, E_OVERFLOW = 2, E_FILTER = 3, E_MEMORY = 4, E_PIE = 5, E_MARK_FILTER = 6,
               E_MARK_MEMORY = 7, E_MARK_PIE = 8, E_SAMPLE = 9;

    typedef enum logic [6:0] {
        CLEAR, IDLE, MULTIPLY, DIVIDE,
        // The controller.
        U_MISSED, U_NEXT, U_SERVICE, U_AIM, U_EACH, U_HALF, U_G, U_GAIN, U_SLOPE, U_DELAY, U_CHANGE, U_RISE, U_STEP,
        U_LEFT, U_CATCH_UP, U_REST, U_SLACK, U_PHI, U_BASE, U_SPARED, U_DONE,
        // The limit of suspects widens.
        W_X, W_Y, W_PART, W_TERMS, W_INNER, W_ONCE, W_TWICE, W_WHOLE, W_MOST, W_MOVE, W_SET,
        // The shares, for arrivals.
        S_FAIR, S_LIMIT, S_KNEE, S_KNEE2, S_LOOSEN, S_ALLOWED, S_KEPT, S_DONE,
        // An arrival.
        A_SET, A_LOOK, A_COUNT, A_JUDGE, A_STORE, A_KNEE, A_EXCESS, A_BELOW, A_SQUARE, A_OF, A_MARKS, A_FILTER,
        A_ROOT, A_HIT,
        // Its base probability, of a suspect and of another flow.
        P_SIZE, P_BASE, P_PARTS, B_PIE, B_ROOT, B_DRAWN, B_LEFT, B_SHARE, B_RIGHT, B_JUDGE, O_BLOCK, O_PLACE,
        O_COMPARE, O_JUDGE, O_DRAW, O_ROOT, O_SCALE, O_MEMORY, O_PIE, O_PIE_ROOT, O_DRAWN,
        SETTLE, ANSWER,
        // A departure that is sampled.
        D_BLOCK, D_PLACE, D_COMPARE, D_GAP, D_PACE, D_TURN, D_ROOM, D_SIZE, D_PACKETS, D_FADE, D_WEIGHT, D_HEAVIER,
        D_DOUBLED, D_READ, D_HALVE, D_SENT, D_QUICK, D_QUICK_MOVE, D_STEADY, D_STEADY_MOVE, D_TURNS, D_MEAN,
        D_DISTANCE, D_NEXT, D_MET, D_LEAST, D_ENTER, D_REMEMBER
    } state_t;
    state_t state, after;

    // State: the page's table has the formats.
    logic [47:0] quick, steady;
    logic [10:0] match_count;
    logic [32:0] weight;
    logic [38:0] sent;
    logic [19:0] size16;
    logic [39:0] pace16;
    logic [35:0] passed16;
    logic [36:0] turns16;
    logic signed [33:0] to_sample;
    logic [30:0] distance;
    logic busy, pressed;
    logic [63:0] last_sample, next_update;
    logic [31:0] delay, old_delay;
    logic [32:0] per_size;
    logic [38:0] limit;
    logic [61:0] allowed, kept;
    logic [17:0] knee, knee2;
    logic [22:0] phi, wide;
    logic [30:0] base;
    logic [38:0] by_share;
    logic [31:0] spared;
    // Where the next id is put: rows of 32 blocks; the memory is full after 32 rows.
    logic [IDS_BITS-5:0] block, next_block;
    logic [4:0] next_row;
    logic is_full;

    // Of the command at work.
    logic [31:0] id;
    logic [15:0] len;
    logic [1:0] ect;
    logic [31:0] wait_ns;
    logic departs, found, hit, marks, widens_once;
    logic [39:0] count;
    logic [7:0] k, c, at;
    logic [2:0] way, least_way;
    logic [39:0] least;
    logic [63:0] bits;
    logic [63:0] x, y, z, part;
    logic [63:0] missed, service, aim, gain, slope, bytes, turn, room;
    logic signed [63:0] change, steps;
    logic [4:0] times;
    logic [16:0] ids_blocks, ids_quads;
    logic [1:0] action;
    logic [2:0] cause;

    // Low half of a product: 16 bits of a at a time.
    logic [63:0] a, b, product;
    logic [79:0] partial;
    logic [2:0] step;
    logic [15:0] factor;
    fairdrop_mul mul (.clk(clk), .a(factor), .b(b), .product(partial));
    assign factor = a[15:0];

    // Quotient, a bit a clock; a divisor of 0 is not asked for.
    logic [63:0] rest, quotient, divisor;
    logic [6:0] digits;
    logic [64:0] trial;
    assign trial = {rest, quotient[63]} - {1'b0, divisor};

    logic [IDS_BITS-1:0] memory_read, memory_write_at;
    logic memory_write;
    logic [31:0] memory_data, memory_word;
    fairdrop_ram #(.WIDTH(32), .ADDRESS_BITS(IDS_BITS)) memory (
        .clk(clk), .write(memory_write), .write_address(memory_write_at), .write_data(memory_word),
        .read_address(memory_read), .read_data(memory_data));

    logic [SETS_BITS+2:0] table_read, table_write_at;
    logic table_write;
    logic [63:0] table_data, table_word;
    fairdrop_ram #(.WIDTH(64), .ADDRESS_BITS(SETS_BITS + 3)) places (
        .clk(clk), .write(table_write), .write_address(table_write_at), .write_data(table_word),
        .read_address(table_read), .read_data(table_data));
    logic [SETS_BITS-1:0] set;
    logic [SETS_BITS+3:0] sweep;

    assign s = (quick < steady ? quick : steady) >> 16;
    assign ids_blocks = ids >> 5;
    assign ids_quads = ids >> 7;
    assign s_axis_departure_tready = state == IDLE && now_ns < next_update;
    assign s_axis_arrival_tready = s_axis_departure_tready && !s_axis_departure_tvalid;
    assign s_axis_candidate_tready = (state == O_BLOCK || state == D_BLOCK) && s_axis_candidate_tvalid;
    assign s_axis_filter_tready = (state == A_FILTER || state == O_DRAW) && s_axis_filter_tvalid;
    assign s_axis_pie_tready = (state == B_PIE || state == O_PIE) && s_axis_pie_tvalid;
    assign memory_read = {block, 5'b0} + at;
    assign table_read = state == D_READ ? sweep[SETS_BITS+2:0] : {set, at[2:0]};

    function automatic [6:0] bits_of(input [63:0] value);
        bits_of = 7'd0;
        for (int bit_at = 0; bit_at < 64; bit_at++) if (value[bit_at]) bits_of = bit_at[6:0] + 7'd1;
    endfunction

    // The shift that leaves at most `most` bits.
    function automatic [6:0] excess_bits(input [63:0] value, input [6:0] most);
        excess_bits = bits_of(value) > most ? bits_of(value) - most : 7'd0;
    endfunction

    function automatic [63:0] least_of(input [63:0] one, input [63:0] other);
        least_of = one < other ? one : other;
    endfunction

    function automatic [63:0] most_of(input [63:0] one, input [63:0] other);
        most_of = one > other ? one : other;
    endfunction

    function automatic [63:0] into_root(input signed [63:0] value);
        into_root = value < 0 ? 64'd0 : least_of(value, ROOT_MOST);
    endfunction

    // First or next value of 16 times a mean.
    function automatic [63:0] first16(input [63:0] sum16, input [63:0] sample);
        first16 = sum16 == 0 ? sample << 4 : sum16 - (sum16 >> 4) + sample;
    endfunction

    // The step of an average of matches, from k - c s / 8 in Q28.
    function automatic signed [63:0] change_of(input [63:0] scaled, input [7:0] hits, input [10:0] most);
        change_of = ($signed({28'b0, hits, 28'b0}) - $signed(scaled >> 3)) >>> (bits_of(most + 64'd16) - 7'd1);
        if (change_of < -(64'sd1 <<< 27)) change_of = -(64'sd1 <<< 27);
    endfunction

    function automatic [47:0] average_of(input [47:0] average, input signed [63:0] scaled);
        logic signed [63:0] sum;
        sum = $signed({16'b0, average}) + (scaled >>> 12);
        average_of = sum < 64'sd8589934592 ? 48'd8589934592 : sum > 64'sd140737488355328 ? 48'd140737488355328 : sum[47:0];
    endfunction

    // Ids in a block.
    function automatic [7:0] filled(input [IDS_BITS-5:0] of);
        filled = is_full ? 8'd32 : {3'b0, next_row} + (of < next_block);
    endfunction

    // A product or a quotient, and the state that takes it.
    task automatic times_to(input [63:0] one, input [63:0] other, input state_t then);
        a <= one;
        b <= other;
        product <= 64'b0;
        step <= 3'd0;
        after <= then;
        state <= MULTIPLY;
    endtask

    task automatic over_to(input [63:0] one, input [63:0] other, input state_t then);
        quotient <= one;
        divisor <= other;
        rest <= 64'b0;
        digits <= 7'd64;
        after <= then;
        state <= DIVIDE;
    endtask

    task automatic settle(input [1:0] to, input [2:0] why);
        action <= to;
        cause <= why;
        state <= SETTLE;
    endtask

    // Half a fair share.
    logic [63:0] assumed;
    assign assumed = most_of(64'd1, product >> 25);
    logic signed [63:0] moved;
    assign moved = $signed({41'b0, widened}) + ($signed(product) >>> 32);

    always_ff @(posedge clk) begin
        events <= '0;
        memory_write <= 1'b0;
        table_write <= 1'b0;
        case (state)
            CLEAR: begin
                memory_write <= 1'b1;
                memory_write_at <= x[IDS_BITS-1:0];
                memory_word <= 32'b0;
                table_write <= 1'b1;
                table_write_at <= x[SETS_BITS+2:0];
                table_word <= 64'b0;
                x <= x + 1'b1;
                if (x == (64'd1 << (IDS_BITS > SETS_BITS + 3 ? IDS_BITS : SETS_BITS + 3)) - 1) state <= S_FAIR;
            end
            IDLE:
                if (now_ns >= next_update) over_to(now_ns - next_update, PERIOD, U_MISSED);
                else if (s_axis_departure_tvalid) begin
                    departs <= 1'b1;
                    id <= s_axis_departure_tdata[31:0] == 32'b0 ? 32'd1 : s_axis_departure_tdata[31:0];
                    len <= s_axis_departure_tdata[47:32];
                    wait_ns <= s_axis_departure_tdata[95:64];
                    waiting_packets <= waiting_packets - 1'b1;
                    to_sample <= to_sample - $signed({18'b0, s_axis_departure_tdata[47:32]});
                    events[E_DEPARTED] <= 1'b1;
                    state <= to_sample <= $signed({18'b0, s_axis_departure_tdata[47:32]}) ? D_BLOCK : S_DONE;
                end else if (s_axis_arrival_tvalid) begin
                    departs <= 1'b0;
                    id <= s_axis_arrival_tdata[31:0] == 32'b0 ? 32'd1 : s_axis_arrival_tdata[31:0];
                    len <= s_axis_arrival_tdata[47:32];
                    ect <= ecn ? s_axis_arrival_tdata[49:48] : 2'b00;
                    hit <= 1'b0;
                    events[E_ARRIVED] <= 1'b1;
                    times_to(s_axis_arrival_tdata[31:0] == 32'b0 ? 64'd1 : s_axis_arrival_tdata[31:0], sets, A_SET);
                end
            // Partial products are there two clocks after their factors.
            MULTIPLY: begin
                a <= a >> 16;
                step <= step + 1'b1;
                case (step)
                    3'd2: product <= product + partial[63:0];
                    3'd3: product <= product + {partial[47:0], 16'b0};
                    3'd4: product <= product + {partial[31:0], 32'b0};
                    3'd5: product <= product + {partial[15:0], 48'b0};
                    default: ;
                endcase
                if (step == 3'd5) state <= after;
            end
            DIVIDE: begin
                rest <= trial[64] ? {rest[62:0], quotient[63]} : trial[63:0];
                quotient <= {quotient[62:0], !trial[64]};
                digits <= digits - 1'b1;
                if (digits == 7'd1) state <= after;
            end

            U_MISSED: begin
                missed <= quotient;
                times_to(quotient + 1'b1, PERIOD, U_NEXT);
            end
            U_NEXT: begin
                next_update <= next_update + product;
                times_to(pace16 >> 4, size16 >> 4, U_SERVICE);
            end
            U_SERVICE: begin
                service <= least_of(product >> 16, NS_MOST);
                change <= $signed({32'b0, delay}) - $signed({32'b0, old_delay});
                state <= U_AIM;
            end
            U_AIM:
                if (service == 0) begin
                    aim <= target;
                    state <= U_HALF;
                end else over_to(service << 31, s, U_EACH);
            U_EACH: begin
                aim <= most_of(target, quotient);
                times_to(buffer_limit, service, U_HALF);
            end
            U_HALF: begin
                if (service != 0) aim <= most_of(64'd1, least_of(least_of(aim, product >> 1), NS_MOST));
                state <= U_G;
            end
            U_G: over_to((64'd100_000_000 + target) << 16, 64'd100_000_000 + aim, U_GAIN);
            U_GAIN: begin
                gain <= least_of(quotient, Q16);
                times_to(least_of(quotient, Q16), least_of(quotient, Q16), U_SLOPE);
            end
            U_SLOPE: times_to(product >> 16, 64'd176, U_DELAY);
            U_DELAY: times_to(product, {32'b0, delay} - aim, U_CHANGE);
            U_CHANGE: begin
                slope <= $signed(product) >>> 16;
                times_to(gain, 64'd3518, U_RISE);
            end
            U_RISE: times_to(product, change, U_STEP);
            U_STEP: begin
                times <= 5'd0;
                old_delay <= delay;
                if (widened == Q16) root <= into_root($signed({24'b0, root}) + $signed(slope) + ($signed(product) >>> 16));
                widens_once <= 1'b1;
                state <= U_LEFT;
            end
            // Once for the period that has ended, then for those that were missed.
            U_LEFT: begin
                widens_once <= 1'b0;
                if (widens_once && root == 0) over_to({16'b0, delay, 16'b0}, aim, W_X);
                else begin
                    pressed <= 1'b0;
                    change <= 64'b0;
                    state <= U_CATCH_UP;
                end
            end
            U_CATCH_UP:
                if (widened > Q16 && times < 16 && times < missed) begin
                    times <= times + 1'b1;
                    over_to({16'b0, delay, 16'b0}, aim, W_X);
                end else if (missed > times && widened == Q16) times_to(slope, least_of(missed - times, 64'd65_535), U_REST);
                else state <= U_SLACK;
            U_REST: begin
                root <= into_root($signed({24'b0, root}) + $signed(product));
                state <= U_SLACK;
            end
            U_SLACK: begin
                if (now_ns - last_sample > PERIOD) begin
                    distance <= distance - to_sample;
                    to_sample <= '0;
                end
                if (root == 0) begin
                    quotient <= NS_MOST;
                    state <= U_PHI;
                end else over_to(64'd216_172_782_113_784, root, U_PHI);
            end
            U_PHI: begin
                wide <= widened;
                times_to(least_of(Q16 + quotient, SLACK_MOST), widened, U_BASE);
            end
            U_BASE: begin
                phi <= product >> 16;
                times_to(root >> 20, root >> 20, U_SPARED);
            end
            U_SPARED: begin
                base <= product >> 8;
                if (service == 0) begin
                    quotient <= 64'b0;
                    state <= U_DONE;
                end else over_to(aim, service << 3, U_DONE);
            end
            U_DONE: begin
                spared <= quotient;
                departs <= 1'b0;
                times_to(limit, phi, S_ALLOWED);
            end

            W_X: begin
                x <= least_of(quotient, 64'd1 << 20);
                over_to((change < 0 ? -change : change) << 16, aim, W_Y);
            end
            W_Y: begin
                y <= change < 0 ? -least_of(quotient, 64'd1 << 20) : least_of(quotient, 64'd1 << 20);
                over_to(aim << 16, target, W_PART);
            end
            W_PART: begin
                part <= least_of(quotient, Q16);
                times_to(Q16 - x - (x >> 2), 64'd1966, W_TERMS);
            end
            W_TERMS: begin
                z <= product;
                times_to(y, 64'd6554, W_INNER);
            end
            W_INNER: times_to(z - product, part, W_ONCE);
            W_ONCE: times_to($signed(product) >>> 16, part, W_TWICE);
            W_TWICE: begin
                steps <= ($signed(product) >>> 16) < -(64'sd1 <<< 31) ? -(64'sd1 <<< 31) : $signed(product) >>> 16;
                times_to(loosest, s, W_WHOLE);
            end
            W_WHOLE: over_to(64'd1 << 63, product, W_MOST);
            W_MOST: begin
                x <= pressed ? least_of(quotient, 64'd1 << 22) : least_of(least_of(quotient, 64'd1 << 22), widened);
                state <= W_MOVE;
            end
            W_MOVE: times_to(widened, steps, W_SET);
            W_SET: begin
                widened <= moved < $signed(Q16) || $signed(x) < $signed(Q16) ? Q16 : moved > $signed(x) ? x : moved;
                state <= U_LEFT;
                if (change == 0 && times != 0) state <= U_CATCH_UP;
            end

            S_FAIR: times_to(sent, s >> 7, S_LIMIT);
            S_LIMIT: times_to(product >> 24, share, S_KNEE);
            S_KNEE: begin
                limit <= most_of(64'd1, product >> 16);
                by_share <= {s, 7'b0};
                times_to(s, s, S_KNEE2);
            end
            S_KNEE2: begin
                knee <= 2 * Q16 - (product >> 46);
                times_to(2 * Q16 - (product >> 46), Q16 - (product >> 46), S_LOOSEN);
            end
            S_LOOSEN: begin
                knee2 <= product >> 16;
                times_to(limit, phi, S_ALLOWED);
            end
            S_ALLOWED: begin
                allowed <= product >> 16;
                times_to(limit, wide, S_KEPT);
            end
            S_KEPT: begin
                kept <= product >> 16;
                state <= S_DONE;
            end
            S_DONE: begin
                if (departs && waiting_packets == 0) begin
                    delay <= 32'b0;
                    busy <= 1'b0;
                end
                state <= IDLE;
            end

            A_SET: begin
                set <= product[32 +: SETS_BITS];
                at <= 8'd0;
                found <= 1'b0;
                state <= A_LOOK;
            end
            // What is read was asked for in the clock before.
            A_LOOK: begin
                at <= at + 1'b1;
                if (at != 8'd0 && table_data[23:0] == id[23:0] && table_data[63:24] != 40'b0) begin
                    found <= 1'b1;
                    way <= at[2:0] - 3'd1;
                    count <= table_data[63:24];
                end
                if (at == 8'd8) state <= A_COUNT;
            end
            A_COUNT:
                if (found) times_to(len, weight >> 15, A_JUDGE);
                else if (waiting_packets < 2 || base == 0) settle(QUEUE, OVERFLOW);
                else state <= O_BLOCK;
            A_JUDGE: begin
                count <= least_of(count + (product >> 12), COUNT_MOST);
                z <= least_of(count + (product >> 12), COUNT_MOST);
                state <= A_STORE;
            end
            A_STORE: begin
                table_write <= 1'b1;
                table_write_at <= {set, way};
                table_word <= {count, id[23:0]};
                if (waiting_packets < 2) settle(QUEUE, OVERFLOW);
                else if (count > allowed) begin
                    pressed <= 1'b1;
                    if (waiting_packets >= spared) times_to(allowed >> excess_bits(allowed, 7'd16), knee, A_KNEE);
                    else times_to(len, per_size, P_SIZE);
                end else times_to(len, per_size, P_SIZE);
            end
            // Near the limit the excess counts by its square.
            A_KNEE: begin
                x <= allowed >> excess_bits(allowed, 7'd16);
                y <= count >> excess_bits(allowed, 7'd16);
                z <= product;
                state <= A_EXCESS;
            end
            A_EXCESS:
                if ((y << 16) < z) times_to(y > x ? y - x : 64'd0, y > x ? y - x : 64'd0, A_BELOW);
                else begin
                    y <= count >> excess_bits(count, 7'd32);
                    x <= (count >> excess_bits(count, 7'd32)) - (kept >> excess_bits(count, 7'd32));
                    state <= A_MARKS;
                end
            A_BELOW: begin
                z <= product >> 2;
                times_to(x, x, A_SQUARE);
            end
            A_SQUARE: times_to(product, knee2, A_OF);
            A_OF: begin
                x <= z;
                y <= product >> 18;
                state <= A_MARKS;
            end
            A_MARKS: times_to(y, 64'd5_243, A_FILTER);
            A_FILTER:
                if (s_axis_filter_tvalid) begin
                    marks <= ect != 2'b00 && (x << 16) < product;
                    z <= s_axis_filter_tdata[63:32];
                    if (ect == 2'b01 && (x << 16) < product)
                        times_to(s_axis_filter_tdata[63:32], s_axis_filter_tdata[63:32], A_ROOT);
                    else times_to(s_axis_filter_tdata[63:32], y, A_HIT);
                end
            A_ROOT: times_to(product >> 34, y, A_HIT);
            A_HIT: begin
                hit <= (product >> 32) < x;
                if ((product >> 32) < x && !marks) settle(DROP, FILTER);
                else times_to(len, per_size, P_SIZE);
            end

            // The base probability of this length: by_share of it goes by the flow's share.
            P_SIZE: times_to(base, least_of(product >> 16, Q16), P_BASE);
            P_BASE: begin
                x <= least_of(product >> 16, by_share);
                y <= (product >> 16) - least_of(product >> 16, by_share);
                marks <= ect != 2'b00 && base < 31'd1 << 30;
                state <= P_PARTS;
            end
            P_PARTS:
                if (!found) times_to(x, k, O_JUDGE);
                else if (x == 0 && y == 0) settle(hit ? MARK : QUEUE, FILTER);
                else state <= B_PIE;
            B_PIE:
                if (s_axis_pie_tvalid) begin
                    z <= s_axis_pie_tdata[63:32];
                    state <= B_DRAWN;
                    if (marks && ect == 2'b01) times_to(s_axis_pie_tdata[63:32], s_axis_pie_tdata[63:32], B_ROOT);
                end
            B_ROOT: begin
                z <= product >> 34;
                state <= B_DRAWN;
            end
            B_DRAWN:
                if (z < y) settle(marks ? MARK : DROP, PIE);
                else times_to(limit >> excess_bits(limit, 7'd16), limit >> excess_bits(limit, 7'd16), B_LEFT);
            B_LEFT: times_to(z - y, product, B_SHARE);
            B_SHARE: begin
                z <= product;
                times_to(least_of(count, allowed) >> excess_bits(limit, 7'd16), least_of(count, allowed) >> excess_bits(limit, 7'd16),
                         B_RIGHT);
            end
            B_RIGHT: times_to(x, product, B_JUDGE);
            B_JUDGE:
                if (z < product) settle(marks ? MARK : DROP, PIE);
                else settle(hit ? MARK : QUEUE, FILTER);

            O_BLOCK:
                if (s_axis_candidate_tvalid) begin
                    bits <= s_axis_candidate_tdata;
                    times_to(s_axis_candidate_tdata[63:32], ids_blocks, O_PLACE);
                end
            O_PLACE: begin
                block <= product >> 32;
                c <= filled(product >> 32);
                k <= 8'd0;
                at <= 8'd0;
                state <= O_COMPARE;
            end
            O_COMPARE: begin
                at <= at + 1'b1;
                if (at != 8'd0 && memory_data == id) k <= k + 1'b1;
                if (at == 8'd32) times_to(len, per_size, P_SIZE);
            end
            O_JUDGE: begin
                z <= product;
                state <= product != 0 ? O_DRAW : O_PIE;
            end
            O_DRAW:
                if (s_axis_filter_tvalid) begin
                    if (marks && ect == 2'b01) times_to(s_axis_filter_tdata[63:32], s_axis_filter_tdata[63:32], O_ROOT);
                    else times_to(s_axis_filter_tdata[63:32], s, O_SCALE);
                end
            O_ROOT: times_to(product >> 34, s, O_SCALE);
            O_SCALE: times_to(product >> 31, c, O_MEMORY);
            O_MEMORY:
                if (product < z) settle(marks ? MARK : DROP, MEMORY);
                else state <= O_PIE;
            O_PIE:
                if (y == 0) settle(QUEUE, OVERFLOW);
                else if (s_axis_pie_tvalid) begin
                    z <= s_axis_pie_tdata[63:32];
                    state <= O_DRAWN;
                    if (marks && ect == 2'b01) times_to(s_axis_pie_tdata[63:32], s_axis_pie_tdata[63:32], O_PIE_ROOT);
                end
            O_PIE_ROOT: begin
                z <= product >> 34;
                state <= O_DRAWN;
            end
            O_DRAWN:
                if (z < y) settle(marks ? MARK : DROP, PIE);
                else settle(QUEUE, OVERFLOW);

            SETTLE: begin
                m_axis_decision_tvalid <= 1'b1;
                m_axis_decision_tdata <= {27'b0, action == QUEUE ? OVERFLOW : cause, action};
                state <= ANSWER;
                if (action != DROP && waiting_packets >= buffer_limit) begin
                    m_axis_decision_tdata <= {27'b0, OVERFLOW, DROP};
                    events[E_OVERFLOW] <= 1'b1;
                end else begin
                    if (action != DROP) waiting_packets <= waiting_packets + 1'b1;
                    if (action != QUEUE)
                        case (cause)
                            FILTER: events[action == MARK ? E_MARK_FILTER : E_FILTER] <= 1'b1;
                            MEMORY: events[action == MARK ? E_MARK_MEMORY : E_MEMORY] <= 1'b1;
                            default: events[action == MARK ? E_MARK_PIE : E_PIE] <= 1'b1;
                        endcase
                end
            end
            ANSWER:
                if (m_axis_decision_tready) begin
                    m_axis_decision_tvalid <= 1'b0;
                    state <= IDLE;
                end

            D_BLOCK:
                if (s_axis_candidate_tvalid) begin
                    events[E_SAMPLE] <= 1'b1;
                    bits <= s_axis_candidate_tdata;
                    bytes <= {33'b0, distance} - {{30{to_sample[33]}}, to_sample};
                    times_to(s_axis_candidate_tdata[63:32], ids_quads, D_PLACE);
                end
            D_PLACE: begin
                block <= {product >> 32, 2'b0};
                k <= 8'd0;
                c <= filled({product >> 32, 2'd0}) + filled({product >> 32, 2'd1}) + filled({product >> 32, 2'd2})
                     + filled({product >> 32, 2'd3});
                at <= 8'd0;
                state <= D_COMPARE;
            end
            D_COMPARE: begin
                at <= at + 1'b1;
                if (at != 8'd0 && memory_data == id) k <= k + 1'b1;
                if (at == 8'd128) state <= D_GAP;
            end
            D_GAP: begin
                size16 <= first16(size16, len);
                x <= least_of(now_ns - last_sample, COUNT_MOST);
                if (busy && bytes != 0) over_to(least_of(now_ns - last_sample, COUNT_MOST) << 16, bytes, D_PACE);
                else state <= D_TURN;
            end
            D_PACE: begin
                pace16 <= first16(pace16, least_of(quotient, (64'd1 << 36) - 1));
                state <= D_TURN;
            end
            D_TURN: begin
                x <= least_of(x, span);
                times_to(least_of(x, span), per_span, D_ROOM);
            end
            D_ROOM: begin
                turn <= product >> 32;
                quotient <= 64'b0;
                if (!busy && pace16 >> 4 != 0) over_to(x << 16, pace16 >> 4, D_SIZE);
                else state <= D_SIZE;
            end
            D_SIZE: begin
                room <= least_of(most_of(bytes, quotient), (64'd1 << 31) - 1);
                busy <= 1'b1;
                last_sample <= now_ns;
                delay <= wait_ns;
                over_to(64'd1 << 36, most_of(size16, 64'd16), D_PACKETS);
            end
            D_PACKETS: begin
                per_size <= quotient;
                times_to(room, quotient, D_FADE);
            end
            D_FADE: times_to(least_of(product >> 16, NS_MOST), s, D_WEIGHT);
            D_WEIGHT: times_to(weight, least_of(product >> 21, turn), D_HEAVIER);
            D_HEAVIER: begin
                weight <= weight + (product >> 31);
                sweep <= '0;
                state <= D_DOUBLED;
            end
            D_DOUBLED:
                if (weight[32]) begin
                    weight <= weight >> 1;
                    sent <= sent >> 1;
                    state <= D_READ;
                end else times_to(room, weight >> 15, D_SENT);
            // Two clocks a place: read, write.
            D_READ: state <= D_HALVE;
            D_HALVE: begin
                table_write <= 1'b1;
                table_write_at <= sweep[SETS_BITS+2:0];
                table_word <= {1'b0, table_data[63:25], table_data[23:0]};
                sweep <= sweep + 1'b1;
                state <= D_READ;
                if (sweep + 1'b1 == {sets, 3'b0}) times_to(room, weight >> 15, D_SENT);
            end
            D_SENT: begin
                sent <= most_of(64'd16, least_of(sent + (product >> 12), SENT_MOST));
                match_count <= least_of(match_count + k, 64'd2_032);
                times_to(c, quick >> 16, D_QUICK);
            end
            D_QUICK: times_to(quick >> 16, change_of(product, k, least_of(match_count, 64'd496)), D_QUICK_MOVE);
            D_QUICK_MOVE: begin
                quick <= average_of(quick, product);
                times_to(c, steady >> 16, D_STEADY);
            end
            D_STEADY: times_to(steady >> 16, change_of(product, k, match_count), D_STEADY_MOVE);
            D_STEADY_MOVE: begin
                steady <= average_of(steady, product);
                passed16 <= passed16 - (passed16 >> 4) + bytes;
                times_to(turn, ids, D_TURNS);
            end
            D_TURNS: begin
                turns16 <= turns16 - (turns16 >> 4) + (product >> 15);
                state <= D_MEAN;
            end
            D_MEAN: begin
                quotient <= 64'b0;
                if (turns16 != 0) over_to({passed16, 16'b0}, turns16, D_DISTANCE);
                else state <= D_DISTANCE;
            end
            D_DISTANCE: times_to(bits[31:0], least_of(most_of(quotient, size16 >> 3), 64'd1 << 30), D_NEXT);
            D_NEXT: begin
                distance <= product >> 31;
                to_sample <= product >> 31;
                times_to(id, sets, D_MET);
            end
            D_MET: begin
                set <= product[32 +: SETS_BITS];
                at <= 8'd0;
                found <= 1'b0;
                least <= '1;
                if (k != 0) times_to(sent, s >> 7, D_LEAST);
                else state <= D_REMEMBER;
            end
            D_LEAST: begin
                at <= at + 1'b1;
                if (at != 8'd0) begin
                    if (table_data[23:0] == id[23:0] && table_data[63:24] != 40'b0) found <= 1'b1;
                    if (table_data[63:24] < least || at == 8'd1) begin
                        least <= table_data[63:24];
                        least_way <= at[2:0] - 3'd1;
                    end
                end
                if (at == 8'd8) state <= D_ENTER;
            end
            D_ENTER: begin
                if (!found && least < assumed) begin
                    table_write <= 1'b1;
                    table_write_at <= {set, least_way};
                    table_word <= {assumed[39:0], id[23:0]};
                end
                state <= D_REMEMBER;
            end
            D_REMEMBER: begin
                memory_write <= 1'b1;
                memory_write_at <= {next_block, next_row};
                memory_word <= id;
                next_block <= next_block + 1'b1;
                if (next_block == ids_blocks - 1'b1) begin
                    next_block <= '0;
                    next_row <= next_row + 1'b1;
                    if (next_row == 5'd31) is_full <= 1'b1;
                end
                state <= S_FAIR;
            end
            default: state <= IDLE;
        endcase
        if (rst) begin
            state <= CLEAR;
            x <= 64'b0;
            departs <= 1'b0;
            quick <= 48'd1 << 47;
            steady <= 48'd1 << 47;
            match_count <= '0;
            weight <= 33'd1 << 31;
            sent <= 39'd16;
            {size16, pace16, passed16, turns16} <= '0;
            to_sample <= '0;
            distance <= '0;
            {busy, pressed, is_full} <= '0;
            last_sample <= 64'b0;
            next_update <= PERIOD;
            {delay, old_delay} <= '0;
            root <= '0;
            widened <= Q16;
            {per_size, base, spared} <= '0;
            phi <= SLACK_MOST;
            wide <= Q16;
            {next_block, next_row} <= '0;
            waiting_packets <= '0;
            m_axis_decision_tvalid <= 1'b0;
        end
    end

`ifdef FAIRDROP_PROPERTIES
`include "collar_properties.svh"
`endif
endmodule
