// Memory with one port to write and one to read. What is read is there one clock after the address; a word that is written in
// the same clock is read as it was before.
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
    logic [WIDTH-1:0] words [0:(1<<ADDRESS_BITS)-1];

    always_ff @(posedge clk) begin
        if (write) words[write_address] <= write_data;
        read_data <= words[read_address];
    end
endmodule
