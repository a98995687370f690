// COLLAR with its registers (AXI4-Lite; rtl/README.md has the table) and its own random numbers, or those of streams.
module fairdrop_collar_top #(
    parameter IDS_BITS = 8,
    parameter SETS_BITS = 4
) (
    input  logic        clk,
    input  logic        rst,
    input  logic [63:0] now_ns,
    input  logic [9:0]  s_axil_awaddr,
    input  logic        s_axil_awvalid,
    output logic        s_axil_awready,
    input  logic [31:0] s_axil_wdata,
    input  logic [3:0]  s_axil_wstrb,
    input  logic        s_axil_wvalid,
    output logic        s_axil_wready,
    output logic [1:0]  s_axil_bresp,
    output logic        s_axil_bvalid,
    input  logic        s_axil_bready,
    input  logic [9:0]  s_axil_araddr,
    input  logic        s_axil_arvalid,
    output logic        s_axil_arready,
    output logic [31:0] s_axil_rdata,
    output logic [1:0]  s_axil_rresp,
    output logic        s_axil_rvalid,
    input  logic        s_axil_rready,
    input  logic [63:0] s_axis_arrival_tdata,
    input  logic        s_axis_arrival_tvalid,
    output logic        s_axis_arrival_tready,
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
    output logic [31:0] m_axis_decision_tdata,
    output logic        m_axis_decision_tvalid,
    input  logic        m_axis_decision_tready
);
    localparam WORDS = 18, EVENTS = 10, READINGS = EVENTS + 5, STREAMS = 3;
    logic [WORDS*32-1:0] words;
    logic [READINGS*32-1:0] readings;
    logic written;
    logic [7:0] written_word;
    logic core_rst, own_random;
    logic [EVENTS-1:0] events;
    logic [23:0] waiting;
    logic [39:0] root;
    logic [31:0] s;
    logic [22:0] widened;
    logic [31:0] counter [0:EVENTS-1];
    logic [31:0] control;

    assign control = words[31:0];
    assign own_random = control[10];
    // Bit 0 of the first word begins anew with the parameters that are set.
    assign core_rst = rst || (written && written_word == 8'd0 && control[0]);

    fairdrop_axil #(.WRITABLE(WORDS), .READABLE(READINGS)) registers (
        .clk(clk), .rst(rst),
        .s_axil_awaddr(s_axil_awaddr), .s_axil_awvalid(s_axil_awvalid), .s_axil_awready(s_axil_awready),
        .s_axil_wdata(s_axil_wdata), .s_axil_wstrb(s_axil_wstrb), .s_axil_wvalid(s_axil_wvalid),
        .s_axil_wready(s_axil_wready), .s_axil_bresp(s_axil_bresp), .s_axil_bvalid(s_axil_bvalid),
        .s_axil_bready(s_axil_bready), .s_axil_araddr(s_axil_araddr), .s_axil_arvalid(s_axil_arvalid),
        .s_axil_arready(s_axil_arready), .s_axil_rdata(s_axil_rdata), .s_axil_rresp(s_axil_rresp),
        .s_axil_rvalid(s_axil_rvalid), .s_axil_rready(s_axil_rready),
        .words(words), .written(written), .written_word(written_word), .readings(readings));

    // Candidates, filter, controller.
    logic [64*STREAMS-1:0] own, given, numbers;
    logic [STREAMS-1:0] given_valid, valid, ready;
    assign given = {s_axis_pie_tdata, s_axis_filter_tdata, s_axis_candidate_tdata};
    assign given_valid = {s_axis_pie_tvalid, s_axis_filter_tvalid, s_axis_candidate_tvalid};
    assign numbers = own_random ? own : given;
    assign valid = own_random ? '1 : given_valid;
    assign {s_axis_pie_tready, s_axis_filter_tready, s_axis_candidate_tready} = own_random ? '0 : ready;
    for (genvar at = 0; at < STREAMS; at++) begin : sources
        fairdrop_xorshift source (.clk(clk), .seed_write(core_rst), .seed({words[17*32 +: 32], words[16*32 +: 32]} ^ (64'h9e37 << 16 * at)),
                                  .next(ready[at]), .number(own[64*at +: 64]));
    end

    fairdrop_collar #(.IDS_BITS(IDS_BITS), .SETS_BITS(SETS_BITS)) core (
        .clk(clk), .rst(core_rst), .now_ns(now_ns), .ecn(control[4]),
        .buffer_limit(words[1*32 +: 24]), .target(words[2*32 +: 32]), .span(words[3*32 +: 32]), .per_span(words[4*32 +: 64]),
        .share(words[6*32 +: 17]), .loosest(words[7*32 +: 17]), .ids({1'b0, words[8*32 +: 16]}), .sets({1'b0, words[8*32 + 16 +: 16]}),
        .s_axis_arrival_tdata(s_axis_arrival_tdata), .s_axis_arrival_tvalid(s_axis_arrival_tvalid),
        .s_axis_arrival_tready(s_axis_arrival_tready), .s_axis_departure_tdata(s_axis_departure_tdata),
        .s_axis_departure_tvalid(s_axis_departure_tvalid), .s_axis_departure_tready(s_axis_departure_tready),
        .s_axis_candidate_tdata(numbers[63:0]), .s_axis_candidate_tvalid(valid[0]), .s_axis_candidate_tready(ready[0]),
        .s_axis_filter_tdata(numbers[127:64]), .s_axis_filter_tvalid(valid[1]), .s_axis_filter_tready(ready[1]),
        .s_axis_pie_tdata(numbers[191:128]), .s_axis_pie_tvalid(valid[2]), .s_axis_pie_tready(ready[2]),
        .m_axis_decision_tdata(m_axis_decision_tdata), .m_axis_decision_tvalid(m_axis_decision_tvalid),
        .m_axis_decision_tready(m_axis_decision_tready),
        .events(events), .waiting_packets(waiting), .root(root), .s(s), .widened(widened));

    for (genvar at = 0; at < EVENTS; at++) begin : counters
        assign readings[at*32 +: 32] = counter[at];
    end
    assign readings[EVENTS*32 +: 160] = {9'b0, widened, 24'b0, root, s, 8'b0, waiting};

    always_ff @(posedge clk) begin
        for (int at = 0; at < EVENTS; at++) if (events[at]) counter[at] <= counter[at] + 1'b1;
        if (core_rst) for (int at = 0; at < EVENTS; at++) counter[at] <= 32'b0;
    end
endmodule
