// Blocks of a grid, each with its rows of one tensor: views by reinterpret_cast and subview, tiles bound to buffers.
// dmaverify: expect proved
// dmaverify: assume %0 in 0..7
// broken: %9, %c128_i64 nburst(%c16_i64, %c128_i64, %c128_i64) => %9, %c128_i64 nburst(%c16_i64, %c128_i64, %c256_i64) => core/in-bounds
module {
  func.func @views(%arg0: memref<?xf32, #pto.address_space<gm>>, %arg1: memref<8x16x32xf32, #pto.address_space<gm>>) attributes {pto.entry, pto.kernel_kind = #pto.kernel_kind<vector>} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c512 = arith.constant 512 : index
    %c0_i64 = arith.constant 0 : i64
    %c16_i64 = arith.constant 16 : i64
    %c128_i64 = arith.constant 128 : i64
    %c256_i64 = arith.constant 256 : i64
    %c4096_i64 = arith.constant 4096 : i64
    %0 = pto.get_block_idx : i64
    %1 = arith.index_cast %0 : i64 to index
    %2 = arith.muli %1, %c512 : index
    %3 = memref.reinterpret_cast %arg0 to offset: [%2], sizes: [16, 32], strides: [32, 1] : memref<?xf32, #pto.address_space<gm>> to memref<16x32xf32, strided<[32, 1], offset: ?>, #pto.address_space<gm>>
    %4 = memref.subview %arg1[%1, %c0, 0] [1, 16, 32] [1, 1, 1] : memref<8x16x32xf32, #pto.address_space<gm>> to memref<16x32xf32, strided<[32, 1], offset: ?>, #pto.address_space<gm>>
    %5 = pto.pointer_cast(%c4096_i64) : memref<16x32xf32, #pto.address_space<vec>>
    %6 = pto.bind_tile %5, %c16, %c32 {config = #pto.tile_buf_config<blayout=#pto.blayout<row_major>>} : memref<16x32xf32, #pto.address_space<vec>> -> memref<16x32xf32, strided<[32, 1]>, #pto.address_space<vec>>
    %7 = pto.castptr %3 : memref<16x32xf32, strided<[32, 1], offset: ?>, #pto.address_space<gm>> -> !pto.ptr<f32, gm>
    %8 = pto.castptr %6 : memref<16x32xf32, strided<[32, 1]>, #pto.address_space<vec>> -> !pto.ptr<f32, ub>
    %9 = pto.castptr %4 : memref<16x32xf32, strided<[32, 1], offset: ?>, #pto.address_space<gm>> -> !pto.ptr<f32, gm>
    pto.mte_gm_ub %7, %8, %c0_i64, %c128_i64 nburst(%c16_i64, %c128_i64, %c128_i64) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
    pto.set_flag[<PIPE_MTE2>, <PIPE_MTE3>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_MTE2>, <PIPE_MTE3>, <EVENT_ID0>]
    pto.mte_ub_gm %8, %9, %c128_i64 nburst(%c16_i64, %c128_i64, %c128_i64) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
    pto.barrier <PIPE_ALL>
    return
  }
}
