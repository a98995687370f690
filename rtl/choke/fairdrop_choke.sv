// CHOKe as a switch would build it: linked lists of entries in one memory, a mark bit in place of removal, and random addresses.
// Source: R. Pan, B. Prabhakar, K. Psounis and others, IEEE Micro 21(3), 2001, "Implementation issues" and figure 10. It decides
// as `choke_hardware` of the library does, which docs/reference/disciplines/choke-hardware.md describes.
//
// One command at a time: an arrival or the link's request for a packet. The mark bit of a packet is that of its first entry, to
// which its other entries point, so that marking takes one write however many cells the packet has.
module fairdrop_choke #(
    parameter ADDRESS_BITS = 10,
    parameter ID_BITS = 16,
    parameter FIFOS = 1,
    // 1, 2 or 4: address a is in bank a modulo BANKS.
    parameter BANKS = 1,
    parameter MOST_CANDIDATES = 4,
    // Packets may have several cells, one entry each; not together with banks.
    parameter CHOPPED = 0
) (
    input  logic        clk,
    input  logic        rst,
    input  logic [47:0] now_ns,
    // Parameters of the queue, of RED (see fairdrop_average) and of CHOKe.
    input  logic [15:0] limit,
    input  logic [15:0] list_limit,
    input  logic [15:0] quota,
    input  logic [3:0]  fifos,
    input  logic [31:0] min_th,
    input  logic [31:0] max_th,
    input  logic [47:0] spacing,
    input  logic signed [48:0] gentle_base,
    input  logic [47:0] gentle_spacing,
    input  logic [3:0]  weight_shift,
    input  logic [31:0] packet_time_ns,
    input  logic        gentle,
    input  logic        wait_spacing,
    input  logic        independent,
    input  logic        ecn,
    // Candidates in each of four regions of the average, and where the last three begin.
    input  logic [15:0] candidates,
    input  logic [31:0] region1,
    input  logic [31:0] region2,
    input  logic [31:0] region3,
    // 0: occupied entries; 1: the whole memory; 2: from the head to the last entry, three tries, then the head.
    input  logic [1:0]  addresses,
    // A marked entry that is drawn: 0: draw again; 1: no candidate; 2: compare, and drop the arrival alone.
    input  logic [1:0]  marked_rule,
    input  logic        unoccupied_misses,
    input  logic        mark_in_packet,
    input  logic        physical_length,
    input  logic        count_on_match,
    input  logic        mark_one_cell,
    // Most addresses read for a draw; 0 for no bound.
    input  logic [15:0] max_tries,

    // Arrivals: id [23:0], length [39:24], ECN [41:40], class [44:42], cells [55:48].
    input  logic [63:0] s_axis_arrival_tdata,
    input  logic        s_axis_arrival_tvalid,
    output logic        s_axis_arrival_tready,
    // The link asks for a packet.
    input  logic        s_axis_request_tvalid,
    output logic        s_axis_request_tready,
    // Random numbers: of addresses, and of early drops.
    input  logic [63:0] s_axis_candidate_tdata,
    input  logic        s_axis_candidate_tvalid,
    output logic        s_axis_candidate_tready,
    input  logic [63:0] s_axis_early_tdata,
    input  logic        s_axis_early_tvalid,
    output logic        s_axis_early_tready,
    // Packets compared: address of the first entry [15:0], and whether the packet is dropped [16].
    output logic [31:0] m_axis_compared_tdata,
    output logic        m_axis_compared_tvalid,
    input  logic        m_axis_compared_tready,
    // Decision on an arrival: action [1:0] (0 queue, 1 mark and queue, 2 drop), cause [4:2], address of the first entry [31:16].
    output logic [31:0] m_axis_decision_tdata,
    output logic        m_axis_decision_tvalid,
    input  logic        m_axis_decision_tready,
    // Answer to the link: address of the first entry of the packet to send [15:0], or none waits [16].
    output logic [31:0] m_axis_departure_tdata,
    output logic        m_axis_departure_tvalid,
    input  logic        m_axis_departure_tready,

    // Events to count, one clock each.
    output logic [15:0] events,
    output logic [3:0]  events_drawn,
    output logic [15:0] waiting_packets,
    output logic [16:0] occupied_entries,
    // As the last arrival left it.
    output logic [47:0] average
);
    localparam A = ADDRESS_BITS;
    localparam FIFO_BITS = FIFOS > 4 ? 3 : FIFOS > 2 ? 2 : 1;
    localparam BANK_BITS = BANKS > 2 ? 2 : 1;
    localparam BANK_SHIFT = BANKS > 2 ? 2 : BANKS > 1 ? 1 : 0;
    localparam CELL_BITS = CHOPPED ? 8 : 1;
    localparam ENTRY_BITS = ID_BITS + (FIFOS > 1 ? FIFO_BITS : 0) + (CHOPPED ? A + CELL_BITS : 0);
    localparam MAP_BITS = A - 5;

    localparam [1:0] OCCUPIED = 0, MEMORY = 1, FROM_HEAD = 2;
    localparam [1:0] REJECT = 0, MISS = 1, BLIND = 2;
    localparam [2:0] OVERFLOW = 0, RED_EARLY = 1, RED_FORCED = 2, MATCH_ARRIVING = 3;
    // Bits of `events`.
    localparam E_ARRIVED = 0, E_DEPARTED = 1, E_OVERFLOW = 2, E_EARLY = 3, E_FORCED = 4, E_ARRIVING = 5, E_QUEUED = 6,
               E_MARK_EARLY = 7, E_MARK_FORCED = 8, E_DRAW = 9, E_TRY = 10, E_UNOCCUPIED = 11, E_FOREIGN = 12, E_MARKED = 13,
               E_EMPTY = 14, E_ALONE = 15;

    typedef enum logic [5:0] {
        CLEAR, IDLE, AVERAGE, DRAW, SET, TRY, MULTIPLY1, MULTIPLY2, REDUCE, REFUSE, PLACE, SELECT, SELECT_WORD, READ,
        READ_MARK, LOOK, FOUND, COMPARE, VICTIM, JUDGE, RED, ROOM, FIND, FIND_WORD, FIND_NEXT, FIND_NEXT2, STORE, SETTLE,
        ANSWER, SEEK, HEAD, HEAD_READ, HEAD_LOOK, FREE_READ, FREE_MAP, FREE_MAP2, FREE, SENT
    } state_t;
    state_t state;

    // The lists.
    logic [A-1:0] head [0:FIFOS-1], tail [0:FIFOS-1];
    logic [A:0] entries [0:FIFOS-1];
    logic [15:0] live [0:FIFOS-1], marked [0:FIFOS-1];
    logic [A:0] occupied, occupied_in [0:BANKS-1];
    // Entries of a FIFO in a bank: all, and those of packets that are not marked.
    logic [A:0] all_in [0:FIFOS*BANKS-1], live_in [0:FIFOS*BANKS-1];
    logic [15:0] wasted, waiting;
    logic [A-1:0] cursor;

    // The command at work.
    logic [ID_BITS-1:0] id;
    logic ecn_capable;
    logic [FIFO_BITS-1:0] f, turn;
    logic [3:0] looked_at;
    logic [CELL_BITS-1:0] cells, cells_left;
    logic [A-1:0] first;
    logic is_first, by_mark, mark_forced;
    logic serving, served;

    // Draws.
    logic [BANK_BITS-1:0] bank;
    logic [3:0] wanted, drawn, found;
    logic [A-1:0] candidate [0:MOST_CANDIDATES-1];
    logic [CELL_BITS-1:0] candidate_cells [0:MOST_CANDIDATES-1];
    logic [MOST_CANDIDATES-1:0] candidate_hit;
    logic any_live, any_marked;
    logic [15:0] tries;
    logic [16:0] set_size, nth;
    logic [63:0] remains;
    logic [6:0] refuse_step;
    logic [17:0] refuse_rest;
    logic to_head, has_candidate, was_marked;
    logic [A-1:0] address;

    // Memories.
    logic entry_write, mark_write, mark_value, next_write;
    logic [ENTRY_BITS-1:0] entry_in, entry;
    logic [A-1:0] entry_address, mark_address, next_address, next_value, read_address, mark_read_address, next;
    logic mark;

    fairdrop_ram #(.WIDTH(ENTRY_BITS), .ADDRESS_BITS(A)) entry_memory (
        .clk(clk), .write(entry_write), .write_address(entry_address), .write_data(entry_in),
        .read_address(read_address), .read_data(entry));
    fairdrop_ram #(.WIDTH(1), .ADDRESS_BITS(A)) mark_memory (
        .clk(clk), .write(mark_write), .write_address(mark_address), .write_data(mark_value),
        .read_address(mark_read_address), .read_data(mark));
    fairdrop_ram #(.WIDTH(A), .ADDRESS_BITS(A)) next_memory (
        .clk(clk), .write(next_write), .write_address(next_address), .write_data(next_value),
        .read_address(read_address), .read_data(next));

    // Parts of an entry.
    logic [ID_BITS-1:0] entry_id;
    logic [FIFO_BITS-1:0] entry_fifo;
    logic [A-1:0] entry_first;
    logic [CELL_BITS-1:0] entry_cells;
    assign entry_id = entry[ID_BITS-1:0];
    generate
        if (FIFOS > 1) assign entry_fifo = entry[ID_BITS +: FIFO_BITS];
        else assign entry_fifo = '0;
        if (CHOPPED) begin : chopped
            assign entry_first = entry[ENTRY_BITS-1 -: A];
            assign entry_cells = entry[ENTRY_BITS-A-1 -: CELL_BITS];
        end else begin : whole
            assign entry_first = read_address;
            assign entry_cells = 1'b1;
        end
        if (FIFOS > 1 && CHOPPED) assign entry_in = {first, cells, f, id};
        else if (FIFOS > 1) assign entry_in = {f, id};
        else if (CHOPPED) assign entry_in = {first, cells, id};
        else assign entry_in = id;
    endgenerate

    // RED.
    logic update, decide, matched, overflowed, idle, settled, update_done, below, decide_done, early, forced;
    logic [15:0] length, waiting_in, red_a;
    logic [63:0] red_b;
    logic [79:0] product;
    logic [31:0] early_number;
    assign waiting_in = live[f] + (mark_in_packet ? marked[f] : 16'd0);
    assign length = physical_length ? live[f] + marked[f] : waiting_in;
    assign early_number = s_axis_early_tdata[63:32];

    fairdrop_average #(.FIFOS(FIFOS), .FIFO_BITS(FIFO_BITS)) red (
        .clk(clk), .rst(rst), .now_ns(now_ns), .min_th(min_th), .max_th(max_th), .spacing(spacing),
        .gentle_base(gentle_base), .gentle_spacing(gentle_spacing), .weight_shift(weight_shift),
        .packet_time_ns(packet_time_ns), .gentle(gentle), .wait_spacing(wait_spacing), .independent(independent),
        .fifo(f), .update(update), .length(length), .decide(decide), .matched(matched), .overflowed(overflowed),
        .idle(idle), .settled(settled), .update_done(update_done), .below_min_th(below), .average(average),
        .decide_done(decide_done), .early(early), .forced(forced), .random(early_number),
        .random_valid(s_axis_early_tvalid), .random_ready(s_axis_early_tready), .factor_a(red_a), .factor_b(red_b),
        .product(product));

    logic drawing;
    assign drawing = state == TRY;
    fairdrop_mul mul (.clk(clk), .a(drawing ? set_size[15:0] : red_a), .b(drawing ? s_axis_candidate_tdata : red_b),
                      .product(product));

    // Places in memory.
    logic [A:0] in_memory, list_size;
    logic [BANK_BITS-1:0] cursor_bank, head_bank;
    logic [A-1:0] after_cursor;
    assign list_size = list_limit[A:0];
    assign cursor_bank = BANKS > 1 ? cursor[BANK_BITS-1:0] : '0;
    assign head_bank = BANKS > 1 ? head[f][BANK_BITS-1:0] : '0;
    assign in_memory = (list_size + BANKS - 1 - bank) >> BANK_SHIFT;
    assign after_cursor = {1'b0, cursor} + 1'b1 == list_size ? '0 : cursor + 1'b1;

    // A lone FIFO lies in the memory from its head on and around the end: the n-th occupied address follows from that.
    logic [A:0] head_end, around, below_around, below_head, lone_place, from_head, lone_offset;
    logic lone_occupied;
    assign head_end = {1'b0, head[0]} + occupied;
    assign around = head_end > list_size ? head_end - list_size : '0;
    assign below_around = (around + BANKS - 1 - bank) >> BANK_SHIFT;
    assign below_head = ({1'b0, head[0]} + BANKS - 1 - bank) >> BANK_SHIFT;
    assign lone_place = nth[A:0] < below_around ? nth[A:0] : below_head + nth[A:0] - below_around;
    assign from_head = {1'b0, head[f]} + nth[A:0];
    assign lone_offset = {1'b0, read_address} >= {1'b0, head[0]} ? {1'b0, read_address} - {1'b0, head[0]}
                                                                 : {1'b0, read_address} + list_size - {1'b0, head[0]};
    assign lone_occupied = lone_offset < occupied;

    logic is_occupied;
    logic [A-1:0] free_address;

    // The map of occupied entries, 32 to a word, where several FIFOs share the memory.
    logic [MAP_BITS-1:0] map_read, map_write_word, clear_word;
    logic [31:0] map_word, map_in, map_kept, map_bank, map_seen;
    logic map_write;
    logic [(1<<MAP_BITS)-1:0] map_full;
    logic [5:0] map_count;

    function automatic [5:0] ones(input [31:0] word);
        ones = 6'd0;
        for (int at = 0; at < 32; at++) ones = ones + {5'b0, word[at]};
    endfunction

    function automatic [4:0] lowest(input [31:0] word);
        lowest = 5'd0;
        for (int at = 31; at >= 0; at--) if (word[at]) lowest = at[4:0];
    endfunction

    function automatic [4:0] nth_one(input [31:0] word, input [5:0] n);
        logic [5:0] seen;
        seen = 6'd0;
        nth_one = 5'd0;
        for (int at = 0; at < 32; at++) begin
            if (word[at] && seen == n) nth_one = at[4:0];
            seen = seen + {5'b0, word[at]};
        end
    endfunction

    generate
        if (FIFOS > 1) begin : shared
            fairdrop_ram #(.WIDTH(32), .ADDRESS_BITS(MAP_BITS)) map_memory (
                .clk(clk), .write(map_write), .write_address(map_write_word), .write_data(map_in),
                .read_address(map_read), .read_data(map_word));
            assign is_occupied = map_word[read_address[4:0]];
        end else begin : lone
            assign map_word = 32'b0;
            assign is_occupied = lone_occupied;
        end
        if (BANKS == 4) assign map_bank = 32'h11111111 << bank;
        else if (BANKS == 2) assign map_bank = 32'h55555555 << bank;
        else assign map_bank = 32'hffffffff;
    endgenerate
    assign map_seen = map_word & map_bank;
    assign map_count = ones(map_seen);

    // The next word that has a free entry, after that of the cursor and around the end.
    logic [MAP_BITS-1:0] next_word;
    always_comb begin
        next_word = '0;
        for (int at = (1 << MAP_BITS) - 1; at >= 0; at--) if (!map_full[at]) next_word = at[MAP_BITS-1:0];
        for (int at = (1 << MAP_BITS) - 1; at >= 0; at--)
            if (!map_full[at] && at > cursor[A-1:5]) next_word = at[MAP_BITS-1:0];
    end
    logic [31:0] free_after;
    assign free_after = ~map_word & (32'hffffffff << cursor[4:0]);

    logic [15:0] region_candidates;
    always_comb begin
        region_candidates = candidates;
        if (average >= {region1, 16'b0}) region_candidates = candidates >> 4;
        if (average >= {region2, 16'b0}) region_candidates = candidates >> 8;
        if (average >= {region3, 16'b0}) region_candidates = candidates >> 12;
    end

    logic seen_before;
    always_comb begin
        seen_before = 1'b0;
        for (int at = 0; at < MOST_CANDIDATES; at++)
            if (at < found && candidate[at] == entry_first) seen_before = 1'b1;
    end

    logic [1:0] on_marked;
    assign on_marked = mark_in_packet ? BLIND : marked_rule;
    logic [A:0] serving_in;
    assign serving_in = on_marked == REJECT ? live_in[f*BANKS+bank] : all_in[f*BANKS+bank];
    logic holds_data_head, holds_data_victim;
    assign holds_data_head = mark_in_packet || (mark_one_cell && cells_left != 1);
    assign holds_data_victim = mark_in_packet || (mark_one_cell && candidate_cells[drawn] != 1);
    logic data_fits, list_fits, quota_fits;
    assign data_fits = {1'b0, waiting} + {1'b0, wasted} < {1'b0, limit};
    assign list_fits = {{(17-CELL_BITS){1'b0}}, cells} + occupied <= list_size;
    assign quota_fits = quota == 16'd0 || waiting_in < quota;

    logic [FIFO_BITS-1:0] after_f;
    assign after_f = FIFOS > 1 && f + 1 < fifos ? f + 1'b1 : '0;

    assign s_axis_arrival_tready = state == IDLE && settled && !s_axis_request_tvalid;
    assign s_axis_request_tready = state == IDLE;
    assign s_axis_candidate_tready = drawing;
    assign waiting_packets = waiting;
    assign occupied_entries = occupied;
    assign read_address = address;
    assign mark_read_address = CHOPPED && state == READ_MARK ? entry_first : address;

    task automatic answer(input [1:0] action, input [2:0] cause);
        m_axis_decision_tdata <= {{(16-A){1'b0}}, first, 11'b0, cause, action};
        m_axis_decision_tvalid <= 1'b1;
    endtask

    always_ff @(posedge clk) begin
        update <= 1'b0;
        decide <= 1'b0;
        matched <= 1'b0;
        overflowed <= 1'b0;
        idle <= 1'b0;
        entry_write <= 1'b0;
        mark_write <= 1'b0;
        next_write <= 1'b0;
        map_write <= 1'b0;
        events <= 16'b0;
        events_drawn <= 4'd0;
        if (m_axis_compared_tready) m_axis_compared_tvalid <= 1'b0;
        if (m_axis_decision_tready) m_axis_decision_tvalid <= 1'b0;
        if (m_axis_departure_tready) m_axis_departure_tvalid <= 1'b0;

        case (state)
            // After a reset the map is filled: places beyond the list are never free.
            CLEAR: begin
                map_write <= 1'b1;
                map_write_word <= clear_word;
                for (int at = 0; at < 32; at++) map_in[at] <= {clear_word, at[4:0]} >= list_size;
                map_full[clear_word] <= {clear_word, 5'b0} >= list_size;
                clear_word <= clear_word + 1'b1;
                if (clear_word == '1 || FIFOS == 1) state <= IDLE;
            end
            IDLE: begin
                looked_at <= 4'd0;
                served <= 1'b0;
                found <= 4'd0;
                drawn <= 4'd0;
                any_live <= 1'b0;
                any_marked <= 1'b0;
                candidate_hit <= '0;
                is_first <= 1'b1;
                first <= '0;
                if (s_axis_request_tvalid) begin
                    serving <= 1'b1;
                    f <= turn;
                    state <= SEEK;
                end else if (s_axis_arrival_tvalid && settled) begin
                    serving <= 1'b0;
                    id <= s_axis_arrival_tdata[ID_BITS-1:0];
                    ecn_capable <= s_axis_arrival_tdata[41:40] != 2'b00;
                    f <= FIFOS > 1 ? s_axis_arrival_tdata[42 +: FIFO_BITS] : '0;
                    cells <= CHOPPED ? s_axis_arrival_tdata[48 +: CELL_BITS] : 1'b1;
                    cells_left <= CHOPPED ? s_axis_arrival_tdata[48 +: CELL_BITS] : 1'b1;
                    update <= 1'b1;
                    events[E_ARRIVED] <= 1'b1;
                    state <= AVERAGE;
                end
            end
            AVERAGE: if (update_done) begin
                wanted <= region_candidates[3:0] > MOST_CANDIDATES ? MOST_CANDIDATES : region_candidates[3:0];
                if (below || waiting_in == 16'd0) begin
                    decide <= 1'b1;
                    state <= RED;
                end else state <= DRAW;
            end

            // Draws see the lists as the arrival found them.
            DRAW:
                if (drawn == wanted) begin
                    drawn <= 4'd0;
                    state <= VICTIM;
                end else begin
                    set_size <= addresses == MEMORY ? in_memory : addresses == FROM_HEAD ? occupied : occupied_in[bank];
                    tries <= addresses == FROM_HEAD ? 16'd3 : max_tries;
                    to_head <= 1'b0;
                    has_candidate <= 1'b0;
                    was_marked <= 1'b0;
                    events[E_DRAW] <= 1'b1;
                    state <= SET;
                end
            SET:
                if (addresses != FROM_HEAD && (set_size == 17'd0 || max_tries == 16'd0 && serving_in == '0)) state <= FOUND;
                else state <= TRY;
            TRY: if (s_axis_candidate_tvalid) state <= MULTIPLY1;
            MULTIPLY1: state <= MULTIPLY2;
            // D. Lemire, ACM TOMACS 29(1), 2019, algorithm 5: the upper 64 bits are the number, unless the lower are few.
            MULTIPLY2: begin
                nth <= product[80-16 +: 16];
                remains <= product[63:0];
                refuse_step <= 7'd64;
                refuse_rest <= 18'd1;
                state <= product[63:17] == '0 ? REDUCE : PLACE;
            end
            // 2^64 modulo the size of the set, bit by bit: once in 2^47 draws.
            REDUCE: begin
                if (refuse_step == 7'd0) state <= REFUSE;
                else if (refuse_rest >= {1'b0, set_size}) refuse_rest <= refuse_rest - {1'b0, set_size};
                else begin
                    refuse_rest <= refuse_rest << 1;
                    refuse_step <= refuse_step - 1'b1;
                end
            end
            REFUSE:
                if (refuse_rest >= {1'b0, set_size}) refuse_rest <= refuse_rest - {1'b0, set_size};
                else state <= remains < {46'b0, refuse_rest} ? TRY : PLACE;
            PLACE: begin
                events[E_TRY] <= 1'b1;
                if (tries != 16'd0) tries <= tries - 1'b1;
                map_read <= '0;
                case (addresses)
                    MEMORY: address <= (nth[A-1:0] << BANK_SHIFT) + bank;
                    FROM_HEAD: address <= from_head >= list_size ? from_head - list_size : from_head[A-1:0];
                    default: address <= (lone_place[A-1:0] << BANK_SHIFT) + bank;
                endcase
                state <= addresses == OCCUPIED && FIFOS > 1 ? SELECT : READ;
            end
            // The n-th occupied entry of a shared memory: a word of the map each two clocks.
            SELECT: state <= SELECT_WORD;
            SELECT_WORD:
                if (nth < {11'b0, map_count}) begin
                    address <= {map_read, nth_one(map_seen, nth[5:0])};
                    state <= READ;
                end else begin
                    nth <= nth - {11'b0, map_count};
                    map_read <= map_read + 1'b1;
                    state <= SELECT;
                end
            READ: begin
                map_read <= address[A-1:5];
                state <= CHOPPED || FIFOS > 1 ? READ_MARK : LOOK;
            end
            READ_MARK: state <= LOOK;
            LOOK: begin
                state <= TRY;
                if (to_head) begin
                    has_candidate <= 1'b1;
                    state <= FOUND;
                end else if (!is_occupied) begin
                    events[E_UNOCCUPIED] <= 1'b1;
                    if (unoccupied_misses || tries == 16'd0 && max_tries != 16'd0) state <= FOUND;
                end else if (entry_fifo != f && FIFOS > 1) begin
                    events[E_FOREIGN] <= 1'b1;
                    if (tries == 16'd0 && max_tries != 16'd0) state <= FOUND;
                end else if (mark) begin
                    events[E_MARKED] <= 1'b1;
                    if (addresses == FROM_HEAD) begin
                        if (tries == 16'd0) begin
                            to_head <= 1'b1;
                            address <= head[f];
                            state <= READ;
                        end
                    end else begin
                        was_marked <= on_marked == BLIND;
                        if (on_marked != REJECT || tries == 16'd0 && max_tries != 16'd0) state <= FOUND;
                    end
                end else begin
                    has_candidate <= 1'b1;
                    state <= FOUND;
                end
            end
            FOUND: begin
                events[E_EMPTY] <= !has_candidate && !was_marked;
                if (was_marked && entry_id == id) any_marked <= 1'b1;
                if (has_candidate && !seen_before) begin
                    candidate[found] <= entry_first;
                    candidate_cells[found] <= entry_cells;
                    candidate_hit[found] <= entry_id == id;
                    found <= found + 1'b1;
                end
                bank <= BANKS > 1 && bank != BANKS - 1 ? bank + 1'b1 : '0;
                drawn <= drawn + 1'b1;
                state <= DRAW;
            end

            // Candidates leave in the order of their draws, and those of the arrival's flow are marked.
            VICTIM:
                if (drawn == found) state <= JUDGE;
                else if (!m_axis_compared_tvalid || m_axis_compared_tready) begin
                    m_axis_compared_tdata <= {15'b0, candidate_hit[drawn], {(16-A){1'b0}}, candidate[drawn]};
                    m_axis_compared_tvalid <= 1'b1;
                    events_drawn <= 4'd1;
                    if (candidate_hit[drawn]) begin
                        any_live <= 1'b1;
                        mark_write <= 1'b1;
                        mark_address <= candidate[drawn];
                        mark_value <= 1'b1;
                        live[f] <= live[f] - 1'b1;
                        marked[f] <= marked[f] + 1'b1;
                        waiting <= waiting - 1'b1;
                        if (holds_data_victim) wasted <= wasted + 1'b1;
                        live_in[f*BANKS+(BANKS > 1 ? candidate[drawn][BANK_BITS-1:0] : 0)]
                            <= live_in[f*BANKS+(BANKS > 1 ? candidate[drawn][BANK_BITS-1:0] : 0)] - candidate_cells[drawn];
                        events[E_QUEUED] <= 1'b1;
                    end
                    drawn <= drawn + 1'b1;
                end
            // The last candidate leaves before the decision does.
            JUDGE:
                if (m_axis_compared_tvalid && !m_axis_compared_tready) state <= JUDGE;
                else if (any_live || any_marked) begin
                    matched <= count_on_match;
                    events[E_ARRIVING] <= 1'b1;
                    events[E_ALONE] <= !any_live;
                    answer(2'd2, MATCH_ARRIVING);
                    state <= ANSWER;
                end else begin
                    decide <= 1'b1;
                    state <= RED;
                end
            RED:
                if (decide_done) begin
                    by_mark <= early || forced;
                    mark_forced <= forced;
                    if ((early || forced) && !(ecn && ecn_capable)) begin
                        events[forced ? E_FORCED : E_EARLY] <= 1'b1;
                        answer(2'd2, forced ? RED_FORCED : RED_EARLY);
                        state <= ANSWER;
                    end else state <= ROOM;
                end
            ROOM:
                if (data_fits && list_fits && quota_fits) begin
                    if (by_mark) events[mark_forced ? E_MARK_FORCED : E_MARK_EARLY] <= 1'b1;
                    live[f] <= live[f] + 1'b1;
                    waiting <= waiting + 1'b1;
                    map_read <= cursor[A-1:5];
                    state <= FIFOS > 1 ? FIND : STORE;
                end else begin
                    overflowed <= 1'b1;
                    events[E_OVERFLOW] <= 1'b1;
                    answer(2'd2, OVERFLOW);
                    state <= ANSWER;
                end
            // The next free entry from the cursor on.
            FIND: state <= FIND_WORD;
            FIND_WORD:
                if (free_after != 32'b0) begin
                    cursor <= {cursor[A-1:5], lowest(free_after)};
                    map_write_word <= cursor[A-1:5];
                    map_kept <= map_word;
                    state <= STORE;
                end else begin
                    map_read <= next_word;
                    state <= FIND_NEXT;
                end
            FIND_NEXT: state <= FIND_NEXT2;
            FIND_NEXT2: begin
                cursor <= {map_read, lowest(~map_word)};
                map_write_word <= map_read;
                map_kept <= map_word;
                state <= STORE;
            end
            STORE: begin
                entry_write <= 1'b1;
                entry_address <= cursor;
                if (is_first) begin
                    first <= cursor;
                    mark_write <= 1'b1;
                    mark_address <= cursor;
                    mark_value <= 1'b0;
                end
                next_write <= entries[f] != '0;
                next_address <= tail[f];
                next_value <= cursor;
                if (entries[f] == '0) head[f] <= cursor;
                tail[f] <= cursor;
                entries[f] <= entries[f] + 1'b1;
                occupied <= occupied + 1'b1;
                occupied_in[cursor_bank] <= occupied_in[cursor_bank] + 1'b1;
                all_in[f*BANKS+cursor_bank] <= all_in[f*BANKS+cursor_bank] + 1'b1;
                live_in[f*BANKS+cursor_bank] <= live_in[f*BANKS+cursor_bank] + 1'b1;
                map_write <= 1'b1;
                map_in <= map_kept | (32'b1 << cursor[4:0]);
                map_full[cursor[A-1:5]] <= (map_kept | (32'b1 << cursor[4:0])) == '1;
                is_first <= 1'b0;
                cursor <= after_cursor;
                map_read <= after_cursor[A-1:5];
                cells_left <= cells_left - 1'b1;
                if (cells_left == 1) state <= COMPARE;
                else state <= FIFOS > 1 ? SETTLE : STORE;
            end
            // The map is written before it is read again.
            SETTLE: state <= FIND;
            COMPARE: begin
                answer(by_mark ? 2'd1 : 2'd0, mark_forced ? RED_FORCED : RED_EARLY);
                state <= ANSWER;
            end
            ANSWER:
                if (m_axis_decision_tready) state <= any_live && !mark_in_packet ? HEAD : IDLE;

            // The link asks: FIFOs in turn, the first that has a packet to send.
            SEEK:
                if (looked_at == fifos || FIFOS == 1 && looked_at == 4'd1) begin
                    idle <= 1'b1;
                    m_axis_departure_tdata <= {15'b0, 1'b1, 16'b0};
                    m_axis_departure_tvalid <= 1'b1;
                    state <= SENT;
                end else if (entries[f] == '0) begin
                    looked_at <= looked_at + 1'b1;
                    f <= after_f;
                end else state <= HEAD;
            // Marked packets at the head are discarded.
            HEAD: begin
                address <= head[f];
                state <= entries[f] == '0 ? (serving && !served ? SEEK : served ? SENT : IDLE) : HEAD_READ;
            end
            HEAD_READ: state <= HEAD_LOOK;
            HEAD_LOOK: begin
                cells_left <= entry_cells;
                if (mark) begin
                    marked[f] <= marked[f] - 1'b1;
                    by_mark <= 1'b1;
                    state <= FREE_READ;
                end else if (serving && !served) begin
                    by_mark <= 1'b0;
                    served <= 1'b1;
                    m_axis_departure_tdata <= {16'b0, {(16-A){1'b0}}, address};
                    m_axis_departure_tvalid <= 1'b1;
                    events[E_DEPARTED] <= 1'b1;
                    live[f] <= live[f] - 1'b1;
                    waiting <= waiting - 1'b1;
                    turn <= after_f;
                    state <= FREE_READ;
                end else state <= served ? SENT : IDLE;
            end
            FREE_READ: begin
                if (by_mark && holds_data_head && is_first) wasted <= wasted - 1'b1;
                map_read <= address[A-1:5];
                state <= FIFOS > 1 ? FREE_MAP : FREE;
            end
            FREE_MAP: state <= FREE_MAP2;
            FREE_MAP2: begin
                map_kept <= map_word;
                state <= FREE;
            end
            FREE: begin
                head[f] <= next;
                address <= next;
                entries[f] <= entries[f] - 1'b1;
                occupied <= occupied - 1'b1;
                occupied_in[head_bank] <= occupied_in[head_bank] - 1'b1;
                all_in[f*BANKS+head_bank] <= all_in[f*BANKS+head_bank] - 1'b1;
                if (!by_mark) live_in[f*BANKS+head_bank] <= live_in[f*BANKS+head_bank] - 1'b1;
                map_write <= 1'b1;
                map_write_word <= address[A-1:5];
                map_in <= map_kept & ~(32'b1 << address[4:0]);
                map_full[address[A-1:5]] <= 1'b0;
                cells_left <= cells_left - 1'b1;
                is_first <= cells_left == 1;
                if (cells_left != 1) state <= FREE_READ;
                else if (!by_mark && mark_in_packet) state <= SENT;
                else state <= HEAD;
            end
            default: if (m_axis_departure_tready || !m_axis_departure_tvalid) state <= IDLE;
        endcase

        if (rst) begin
            state <= CLEAR;
            clear_word <= '0;
            bank <= '0;
            turn <= '0;
            cursor <= '0;
            occupied <= '0;
            wasted <= '0;
            waiting <= '0;
            m_axis_compared_tvalid <= 1'b0;
            m_axis_decision_tvalid <= 1'b0;
            m_axis_departure_tvalid <= 1'b0;
            for (int at = 0; at < FIFOS; at++) begin
                entries[at] <= '0;
                live[at] <= '0;
                marked[at] <= '0;
            end
            for (int at = 0; at < BANKS; at++) occupied_in[at] <= '0;
            for (int at = 0; at < FIFOS * BANKS; at++) begin
                all_in[at] <= '0;
                live_in[at] <= '0;
            end
        end
    end

`ifdef FAIRDROP_FORMAL
`include "choke_lists.svh"
`endif
`ifdef FAIRDROP_PROPERTIES
`include "choke_properties.svh"
`endif
endmodule
