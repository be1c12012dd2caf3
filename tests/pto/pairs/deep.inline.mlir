// A [3, 4, 2, 8, 32] f16 tensor whose axes are all strided in GM: three loops around the rows.
// dmaverify: gm %x = 524288 bytes
// dmaverify: expect proved
func.func @deep(%x: !pto.ptr<f16, gm>, %y: !pto.ptr<f16, gm>) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %c3 = arith.constant 3 : i64
  %c4 = arith.constant 4 : i64
  %c8 = arith.constant 8 : i64
  %c64 = arith.constant 64 : i64
  %c128 = arith.constant 128 : i64
  %c512 = arith.constant 512 : i64
  %c1024 = arith.constant 1024 : i64
  %c2048 = arith.constant 2048 : i64
  %c4096 = arith.constant 4096 : i64
  %c8192 = arith.constant 8192 : i64
  %c65536 = arith.constant 65536 : i64
  %c12288 = arith.constant 12288 : i64
  %ub = pto.castptr %c0 : i64 -> !pto.ptr<f16, ub>
  pto.mte_gm_ub %x, %ub, %c0, %c64 nburst(%c8, %c128, %c64) loop(%c2, %c2048, %c512) loop(%c4, %c8192, %c1024) loop(%c3, %c65536, %c4096)
    : !pto.ptr<f16, gm>, !pto.ptr<f16, ub>, i64, i64, i64, i64, i64, loop i64, i64, i64, loop i64, i64, i64, loop i64, i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
  pto.mte_ub_gm %ub, %y, %c12288 nburst(%c1, %c0, %c0)
    : !pto.ptr<f16, ub>, !pto.ptr<f16, gm>, i64, i64, i64, i64
  return
}
