// A maximum kept in UB over tiles of columns, two buffers for them.
// dmaverify: expect proved
// broken: nburst(%c64_i64, %c4096_i64, %c256_i64) => nburst(%c64_i64, %c256_i64, %c4096_i64) => core/hazard-war
// dmaverify: gm %s = 64x1024xf32
// dmaverify: gm %mx = 64xf32
// dmaverify: assume %tiles in 1..16
func.func @online_max(%s: !pto.ptr<f32, gm>, %mx: !pto.ptr<f32, gm>, %tiles: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c12 = arith.constant 12 : index
  %c64 = arith.constant 64 : index
  %c0_i64 = arith.constant 0 : i64
  %c1_i64 = arith.constant 1 : i64
  %c64_i64 = arith.constant 64 : i64
  %c256_i64 = arith.constant 256 : i64
  %c4096_i64 = arith.constant 4096 : i64
  %c32768_i64 = arith.constant 32768 : i64
  %c33024_i64 = arith.constant 33024 : i64
  %in = pto.castptr %c0_i64 : i64 -> !pto.ptr<f32, ub>
  %run = pto.castptr %c32768_i64 : i64 -> !pto.ptr<f32, ub>
  %new = pto.castptr %c33024_i64 : i64 -> !pto.ptr<f32, ub>
  pto.set_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID0"]
  pto.set_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID1"]
  pto.vecscope {
    %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
    %ninf = arith.constant 0xFF800000 : f32
    %v = pto.vbr %ninf : f32 -> !pto.vreg<64xf32>
    pto.vsts %v, %run[%c0], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
  }
  scf.for %t = %c0 to %tiles step %c1 {
    %p = arith.remui %t, %c2 : index
    %col = arith.muli %t, %c64 : index
    %sk = arith.shli %p, %c12 : index
    %g = pto.addptr %s, %col : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
    %b = pto.addptr %in, %sk : !pto.ptr<f32, ub> -> !pto.ptr<f32, ub>
    pto.wait_flag_dyn["PIPE_V", "PIPE_MTE2", %p]
    pto.mte_gm_ub %g, %b, %c0_i64, %c256_i64 nburst(%c64_i64, %c4096_i64, %c256_i64)
      : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
    pto.set_flag_dyn["PIPE_MTE2", "PIPE_V", %p]
    pto.wait_flag_dyn["PIPE_MTE2", "PIPE_V", %p]
    pto.vecscope {
      %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
      %one = pto.pset_b32 "PAT_VL1" : !pto.mask<b32>
      scf.for %r = %c0 to %c64 step %c1 {
        %a = arith.muli %r, %c64 : index
        %v = pto.vlds %b[%a] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
        %t1 = pto.vcmax %v, %m : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
        pto.vsts %t1, %new[%r], %one {dist = "1PT_B32"} : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
      }
      pto.mem_bar "VST_VLD"
      %o = pto.vlds %run[%c0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
      %n = pto.vlds %new[%c0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
      %w = pto.vmax %o, %n, %m : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
      pto.vsts %w, %run[%c0], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
      pto.mem_bar "VST_VLD"
    }
    pto.set_flag_dyn["PIPE_V", "PIPE_MTE2", %p]
  }
  pto.set_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.wait_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.mte_ub_gm %run, %mx, %c256_i64 nburst(%c1_i64, %c256_i64, %c256_i64)
    : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
  pto.wait_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID0"]
  pto.wait_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID1"]
  return
}
