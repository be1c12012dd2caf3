// 1,000 numbers from f32 to bf16: the store packs the lower half of each lane, the last register 40 of them.
// dmaverify: gm %in = 1000xf32
// dmaverify: gm %out = 1000xbf16
// dmaverify: expect proved
func.func @narrow(%in: !pto.ptr<f32, gm>, %out: !pto.ptr<bf16, gm>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %n = arith.constant 1000 : index
  %left0 = arith.constant 1000 : i32
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %half = arith.constant 2000 : i64
  %obase = arith.constant 4000 : i64
  %a = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  %b = pto.castptr %obase : i64 -> !pto.ptr<bf16, ub>
  pto.mte_gm_ub %in, %a, %z, %obase nburst(%one, %obase, %obase)
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID2"]
  pto.wait_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID2"]
  pto.vecscope {
    %last = scf.for %j = %c0 to %n step %c64 iter_args(%left = %left0) -> (i32) {
      %m, %rest = pto.plt_b32 %left : i32 -> !pto.mask<b32>, i32
      %f = pto.vlds %a[%j] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
      %h = pto.vcvt %f, %m {part = "EVEN"} : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<128xbf16>
      pto.vsts %h, %b[%j], %m {dist = "PK_B32"} : !pto.vreg<128xbf16>, !pto.ptr<bf16, ub>, !pto.mask<b32>
      scf.yield %rest : i32
    }
  }
  pto.set_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID2"]
  pto.wait_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID2"]
  pto.mte_ub_gm %b, %out, %half nburst(%one, %half, %half)
    : !pto.ptr<bf16, ub>, !pto.ptr<bf16, gm>, i64, i64, i64, i64
  return
}
