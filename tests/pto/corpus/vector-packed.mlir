// Eight scales and eight offsets of 32 bytes each, side by side at 8,256 and 8,288, and a row of 64 behind them that is
// loaded while the first two are already in use: registers reach beyond each buffer, their lanes do not.
// dmaverify: gm %scale = 8xf32
// dmaverify: gm %offset = 8xf32
// dmaverify: gm %row = 64xf32
// dmaverify: gm %made = 8xf32
// dmaverify: gm %again = 64xf32
// dmaverify: expect proved
func.func @packed(%scale: !pto.ptr<f32, gm>, %offset: !pto.ptr<f32, gm>, %row: !pto.ptr<f32, gm>,
                  %made: !pto.ptr<f32, gm>, %again: !pto.ptr<f32, gm>) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %small = arith.constant 32 : i64
  %long = arith.constant 256 : i64
  %at0 = arith.constant 8256 : i64
  %at1 = arith.constant 8288 : i64
  %at2 = arith.constant 8320 : i64
  %at3 = arith.constant 8352 : i64
  %s = pto.castptr %at0 : i64 -> !pto.ptr<f32, ub>
  %o = pto.castptr %at1 : i64 -> !pto.ptr<f32, ub>
  %m = pto.castptr %at2 : i64 -> !pto.ptr<f32, ub>
  %r = pto.castptr %at3 : i64 -> !pto.ptr<f32, ub>
  pto.mte_gm_ub %scale, %s, %z, %small nburst(%one, %small, %small)
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  pto.mte_gm_ub %offset, %o, %z, %small nburst(%one, %small, %small)
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
  pto.mte_gm_ub %row, %r, %z, %long nburst(%one, %long, %long)
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
  pto.vecscope {
    %eight = pto.pge_b32 "PAT_VL8" : !pto.mask<b32>
    %a = pto.vlds %s[%c0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
    %b = pto.vlds %o[%c0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
    %p = pto.vmul %a, %a, %eight : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
    %q = pto.vadd %p, %b, %eight : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
    pto.vsts %q, %m[%c0], %eight {dist = "NORM_B32"} : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
  }
  pto.set_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID1"]
  pto.wait_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID1"]
  pto.mte_ub_gm %m, %made, %small nburst(%one, %small, %small)
    : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
  pto.wait_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
  pto.mte_ub_gm %r, %again, %long nburst(%one, %long, %long)
    : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
  return
}
