// RED's average and its decisions: S. Floyd, V. Jacobson, "Random early detection gateways for congestion avoidance", 1993,
// for FIFOS queues, without a division.
//
// The average has 16 bits before and 32 after the point, and its weight is 2^-weight_shift. An idle queue is sampled as empty
// once each packet_time, as the time passes. Steps are rounded down, so that an average stays on its side of a length that it
// comes near to: rounded to the nearest it would meet thresholds that the exact one never reaches.
//
// In place of the drop probability p_a = p_b / (1 - count p_b) the core has d = avg - min_th and the spacing
// S = (max_th - min_th) / max_p, so that p_b = d / S, and a random u in [0, 1) drops when u (S - count d) < d. Thresholds are in
// 2^-16 packets, S in 2^-32.
//
// update takes 4 clocks, decide 10 at most, each from the clock of its command to that of its `done`.
module fairdrop_average #(
    parameter FIFOS = 1,
    parameter FIFO_BITS = 1
) (
    input  logic                 clk,
    input  logic                 rst,
    input  logic [47:0]          now_ns,
    // Parameters.
    input  logic [31:0]          min_th,
    input  logic [31:0]          max_th,
    input  logic [47:0]          spacing,
    // Between max_th and twice max_th: the average at which the probability's line would be 0, and the spacing.
    input  logic signed [48:0]   gentle_base,
    input  logic [47:0]          gentle_spacing,
    input  logic [3:0]           weight_shift,
    input  logic [31:0]          packet_time_ns,
    input  logic                 gentle,
    input  logic                 wait_spacing,
    input  logic                 independent,
    // Commands, one at a time, for queue `fifo`.
    input  logic [FIFO_BITS-1:0] fifo,
    input  logic                 update,
    input  logic [15:0]          length,
    input  logic                 decide,
    input  logic                 matched,
    input  logic                 overflowed,
    // All queues are empty and the link asked for a packet.
    input  logic                 idle,
    // No queue has an idle time that is still to be taken into account.
    output logic                 settled,
    output logic                 update_done,
    output logic                 below_min_th,
    output logic [47:0]          average,
    output logic                 decide_done,
    output logic                 early,
    output logic                 forced,
    // Random numbers in [0, 1), as 32 bits after the point.
    input  logic [31:0]          random,
    input  logic                 random_valid,
    output logic                 random_ready,
    // The multiplier, which is the core's, and this one's while `decide` is at work.
    output logic [15:0]          factor_a,
    output logic [63:0]          factor_b,
    input  logic [79:0]          product
);
    localparam [2:0] U_IDLE = 0, U_SHIFT = 1, U_ADD = 2, U_COMPARE = 3;
    localparam [3:0] D_IDLE = 0, D_FACTORS = 1, D_WAIT = 2, D_SPACE = 3, D_LOW = 4, D_HIGH = 5, D_TAKE = 6, D_SUM = 7,
                     D_COMPARE = 8;

    logic [47:0] avg [0:FIFOS-1];
    // Arrivals at or above min_th since the last early drop, and one; 0 when the average was below.
    logic [15:0] count [0:FIFOS-1];
    logic [FIFOS-1:0] is_idle, behind;
    logic [47:0] next_ns [0:FIFOS-1];

    logic [2:0] u_state;
    logic u_tick;
    logic [FIFO_BITS-1:0] u_fifo, tick_fifo;
    logic signed [49:0] difference, step, shifted;
    logic [48:0] twice_max_th;

    logic [3:0] d_state;
    logic in_gentle, is_forced;
    logic [47:0] d, s, x;
    logic x_none, x_keep;
    logic signed [65:0] room, room_wait;
    logic [79:0] low_part, sum;
    logic [31:0] u;

    for (genvar f = 0; f < FIFOS; f++) begin : idle_time
        assign behind[f] = is_idle[f] && avg[f] != 48'b0 && now_ns >= next_ns[f];
    end
    assign settled = behind == '0 && u_state == U_IDLE;
    assign twice_max_th = {max_th, 17'b0};

    always_comb begin
        tick_fifo = '0;
        for (int f = FIFOS - 1; f >= 0; f--) if (behind[f]) tick_fifo = f[FIFO_BITS-1:0];
    end

    assign shifted = difference >>> weight_shift;
    assign room = $signed({18'b0, s}) - $signed({2'b0, product[63:0]});
    assign room_wait = $signed({17'b0, s, 1'b0}) - $signed({2'b0, product[63:0]});
    assign random_ready = d_state == D_FACTORS && random_valid;

    always_comb begin
        factor_a = count[fifo];
        factor_b = {16'b0, d};
        if (d_state == D_LOW) begin factor_a = u[15:0]; factor_b = {16'b0, x}; end
        if (d_state == D_HIGH) begin factor_a = u[31:16]; factor_b = {16'b0, x}; end
    end

    always_ff @(posedge clk) begin
        update_done <= 1'b0;
        decide_done <= 1'b0;

        case (u_state)
            U_IDLE:
                if (update || behind != '0) begin
                    u_tick <= !update;
                    u_fifo <= update ? fifo : tick_fifo;
                    difference <= update ? $signed({2'b0, length, 32'b0}) - $signed({2'b0, avg[fifo]})
                                         : -$signed({2'b0, avg[tick_fifo]});
                    if (update) is_idle[fifo] <= 1'b0;
                    u_state <= U_SHIFT;
                end
            U_SHIFT: begin
                step <= shifted;
                u_state <= U_ADD;
            end
            U_ADD: begin
                avg[u_fifo] <= avg[u_fifo] + step[47:0];
                if (u_tick) next_ns[u_fifo] <= next_ns[u_fifo] + {16'b0, packet_time_ns};
                u_state <= u_tick ? U_IDLE : U_COMPARE;
            end
            default: begin
                average <= avg[u_fifo];
                below_min_th <= avg[u_fifo] < {min_th, 16'b0};
                in_gentle <= avg[u_fifo] >= {max_th, 16'b0};
                is_forced <= gentle ? {1'b0, avg[u_fifo]} >= twice_max_th : avg[u_fifo] >= {max_th, 16'b0};
                if (avg[u_fifo] < {min_th, 16'b0}) count[u_fifo] <= 16'd0;
                update_done <= 1'b1;
                u_state <= U_IDLE;
            end
        endcase

        case (d_state)
            D_IDLE:
                if (decide) begin
                    early <= 1'b0;
                    forced <= !below_min_th && is_forced;
                    if (below_min_th || is_forced) decide_done <= 1'b1;
                    else d_state <= D_FACTORS;
                    if (!below_min_th && is_forced) count[fifo] <= 16'd1;
                    d <= average - (in_gentle ? gentle_base[47:0] : {min_th, 16'b0});
                    s <= in_gentle ? gentle_spacing : spacing;
                end
            D_FACTORS:
                if (random_valid) begin
                    u <= random;
                    d_state <= D_WAIT;
                end
            D_WAIT: d_state <= D_SPACE;
            D_SPACE: begin
                // The product is count d.
                x <= independent ? s : wait_spacing ? room_wait[47:0] : room[47:0];
                x_none <= !independent && (wait_spacing ? room_wait <= 0 : room <= 0);
                x_keep <= !independent && wait_spacing && room > 0;
                if (count[fifo] != 16'hffff) count[fifo] <= count[fifo] + 16'd1;
                d_state <= D_LOW;
            end
            D_LOW: d_state <= D_HIGH;
            D_HIGH: d_state <= D_TAKE;
            D_TAKE: begin
                low_part <= product;
                d_state <= D_SUM;
            end
            D_SUM: begin
                // u x / 2^16, whose last bits cannot decide: those of d are 0 there.
                sum <= {16'b0, low_part[79:16]} + product;
                d_state <= D_COMPARE;
            end
            default: begin
                early <= x_none || (!x_keep && sum < {16'b0, d, 16'b0});
                decide_done <= 1'b1;
                d_state <= D_IDLE;
            end
        endcase

        if (matched && count[fifo] != 16'hffff) count[fifo] <= count[fifo] + 16'd1;
        if (overflowed && count[fifo] != 16'd0) count[fifo] <= 16'd1;
        if (decide_done && early) count[fifo] <= 16'd1;
        if (idle)
            for (int f = 0; f < FIFOS; f++)
                if (!is_idle[f]) begin
                    is_idle[f] <= 1'b1;
                    next_ns[f] <= now_ns + {16'b0, packet_time_ns};
                end
        if (rst) begin
            u_state <= U_IDLE;
            d_state <= D_IDLE;
            is_idle <= '1;
            average <= 48'b0;
            for (int f = 0; f < FIFOS; f++) begin
                avg[f] <= 48'b0;
                count[f] <= 16'd0;
                next_ns[f] <= 48'b0;
            end
        end
    end
endmodule
