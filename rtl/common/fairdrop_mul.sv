// Product of 16 and 64 unsigned bits from four multipliers of 16 x 16 bits, which every FPGA has as blocks. The product is
// there two clocks after its factors, one each clock.
module fairdrop_mul (
    input  logic        clk,
    input  logic [15:0] a,
    input  logic [63:0] b,
    output logic [79:0] product
);
    logic [31:0] part0, part1, part2, part3;

    always_ff @(posedge clk) begin
        part0 <= a * b[15:0];
        part1 <= a * b[31:16];
        part2 <= a * b[47:32];
        part3 <= a * b[63:48];
        product <= {part3, 48'b0} + {16'b0, part2, 32'b0} + {32'b0, part1, 16'b0} + {48'b0, part0};
    end
endmodule
