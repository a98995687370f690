// Parts of a core whose values do not matter for its lists: outputs are free, so that a proof covers every value. Contents of the
// memories are those of choke_lists.svh.
module fairdrop_average #(
    parameter FIFOS = 1,
    parameter FIFO_BITS = 1
) (
    input  logic                 clk,
    input  logic                 rst,
    input  logic [47:0]          now_ns,
    input  logic [31:0]          min_th,
    input  logic [31:0]          max_th,
    input  logic [47:0]          spacing,
    input  logic signed [48:0]   gentle_base,
    input  logic [47:0]          gentle_spacing,
    input  logic [3:0]           weight_shift,
    input  logic [31:0]          packet_time_ns,
    input  logic                 gentle,
    input  logic                 wait_spacing,
    input  logic                 independent,
    input  logic [FIFO_BITS-1:0] fifo,
    input  logic                 update,
    input  logic [15:0]          length,
    input  logic                 decide,
    input  logic                 matched,
    input  logic                 overflowed,
    input  logic                 idle,
    output logic                 settled,
    output logic                 update_done,
    output logic                 below_min_th,
    output logic [47:0]          average,
    output logic                 decide_done,
    output logic                 early,
    output logic                 forced,
    input  logic [31:0]          random,
    input  logic                 random_valid,
    output logic                 random_ready,
    output logic [15:0]          factor_a,
    output logic [63:0]          factor_b,
    input  logic [79:0]          product
);
    (* anyseq *) logic [53:0] free;
    assign {settled, update_done, below_min_th, decide_done, early, forced, average} = free;
    assign {random_ready, factor_a, factor_b} = '0;
endmodule

module fairdrop_mul (
    input  logic        clk,
    input  logic [15:0] a,
    input  logic [63:0] b,
    output logic [79:0] product
);
    (* anyseq *) logic [79:0] free;
    assign product = free;
endmodule

module fairdrop_ram #(
    parameter WIDTH = 16,
    parameter ADDRESS_BITS = 10
) (
    input  logic                    clk,
    input  logic                    write,
    input  logic [ADDRESS_BITS-1:0] write_address,
    input  logic [WIDTH-1:0]        write_data,
    input  logic [ADDRESS_BITS-1:0] read_address,
    output logic [WIDTH-1:0]        read_data
);
    (* anyseq *) logic [WIDTH-1:0] free;
    assign read_data = free;
endmodule
