// A tile of 16 x 32 halves out of a matrix of 64 x 128, through registers; the shapes say how large the tensors are.
// dmaverify: expect proved
// broken: %c16_i64, %c64_i64, %c0_i64, %c0_i64, %false, %c0_i64, %c256_i64, %c64_i64 => %c16_i64, %c64_i64, %c0_i64, %c0_i64, %false, %c0_i64, %c256_i64, %c32_i64 => pto/row-overlap
func.func @tile_of_matrix(%arg0: memref<64x128xf16, #pto.address_space<gm>>, %arg1: memref<16x32xf16, #pto.address_space<gm>>, %arg2: index) {
  %c0 = arith.constant 0 : index
  %c48 = arith.constant 48 : index
  %c96 = arith.constant 96 : index
  %c0_i64 = arith.constant 0 : i64
  %c1_i64 = arith.constant 1 : i64
  %c16_i64 = arith.constant 16 : i64
  %c32_i64 = arith.constant 32 : i64
  %c64_i64 = arith.constant 64 : i64
  %c256_i64 = arith.constant 256 : i64
  %false = arith.constant false
  %0 = memref.subview %arg0[%c48, %c96] [16, 32] [1, 1] : memref<64x128xf16, #pto.address_space<gm>> to memref<16x32xf16, strided<[128, 1], offset: ?>, #pto.address_space<gm>>
  %1 = pto.castptr %0 : memref<16x32xf16, strided<[128, 1], offset: ?>, #pto.address_space<gm>> -> !pto.ptr<f16, gm>
  %2 = pto.castptr %arg1 : memref<16x32xf16, #pto.address_space<gm>> -> !pto.ptr<f16, gm>
  %3 = pto.castptr %c0_i64 : i64 -> !pto.ptr<f16, ub>
  pto.set_loop_size_outtoub %c1_i64, %c1_i64 : i64, i64
  pto.copy_gm_to_ubuf %1, %3, %c0_i64, %c16_i64, %c64_i64, %c0_i64, %c0_i64, %false, %c0_i64, %c256_i64, %c64_i64 {layout = "nd"} : !pto.ptr<f16, gm>, !pto.ptr<f16, ub>, i64, i64, i64, i64, i64, i1, i64, i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID4"]
  pto.wait_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID4"]
  pto.set_loop_size_ubtoout %c1_i64, %c1_i64 : i64, i64
  pto.copy_ubuf_to_gm %3, %2, %c0_i64, %c16_i64, %c64_i64, %c0_i64, %c64_i64, %c64_i64 : !pto.ptr<f16, ub>, !pto.ptr<f16, gm>, i64, i64, i64, i64, i64, i64
  pto.pipe_barrier "PIPE_ALL"
  return
}
