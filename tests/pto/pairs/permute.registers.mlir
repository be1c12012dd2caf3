// Rows of one block, permuted inside UB: 16 rows taken in the order 0, 2, 4, ... 1, 3, 5, ...
// dmaverify: gm %x = 16x8xf32
// dmaverify: gm %y = 16x8xf32
// dmaverify: expect proved
func.func @permute(%x: !pto.ptr<f32, gm>, %y: !pto.ptr<f32, gm>) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c8 = arith.constant 8 : i64
  %c32 = arith.constant 32 : i64
  %c512 = arith.constant 512 : i64
  %c64 = arith.constant 64 : i64
  %off = arith.constant false
  %in = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>
  %out = pto.castptr %c512 : i64 -> !pto.ptr<f32, ub>
  pto.copy_gm_to_ubuf %x, %in, %c0, %c1, %c512, %c0, %c0, %off, %c0, %c512, %c512
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64, i1, i64, i64, i64
  pto.barrier #pto.pipe<PIPE_ALL>
  pto.copy_ubuf_to_ubuf %in, %out, %c0, %c8, %c1, %c1, %c0
    : !pto.ptr<f32, ub>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  %odd = pto.addptr %in, %c8 : !pto.ptr<f32, ub> -> !pto.ptr<f32, ub>
  %half = pto.addptr %out, %c64 : !pto.ptr<f32, ub> -> !pto.ptr<f32, ub>
  pto.copy_ubuf_to_ubuf %odd, %half, %c0, %c8, %c1, %c1, %c0
    : !pto.ptr<f32, ub>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  pto.barrier #pto.pipe<PIPE_ALL>
  pto.copy_ubuf_to_gm %out, %y, %c0, %c1, %c512, %c0, %c512, %c512
    : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64, i64, i64
  return
}
